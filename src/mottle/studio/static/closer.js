// A closer look at one column or two, drawn by Vega-Lite; its expressions are interpreted, not evaluated.

const place = document.querySelector("[data-look]");
const look = JSON.parse(place.dataset.look);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const [ink, soft, rule, track, after, before] = ["ink", "soft", "rule", "track", "after", "before"].map(colour);
const shares = (field, title) => ({ field, title, type: "quantitative", format: ".1%" });
const order = (key) => [...new Set(look.marks.map((mark) => mark[key]))];

// One column: bars with their bounds, and marks of the original.
function column() {
  const y = { field: "label", type: "nominal", sort: order("label"), title: null };
  const x = { type: "quantitative", axis: { format: "%", title: "share of the records" } };
  const tooltip = [{ field: "label", title: look.first, type: "nominal" }, shares("before", "original"),
    shares("after", "release, expected"), shares("certain", "at least"), shares("possible", "at most")];
  return {
    width: Math.min(place.clientWidth - 200, 620),
    height: { step: 24 },
    encoding: { y, tooltip },
    layer: [
      { mark: { type: "bar", color: after, height: { band: 0.62 } }, encoding: { x: { ...x, field: "after" } } },
      { mark: { type: "rule", color: soft }, encoding: { x: { ...x, field: "certain" }, x2: { field: "possible" } } },
      { mark: { type: "tick", color: before, thickness: 3, height: { band: 0.8 } }, encoding: { x: { ...x, field: "before" } } },
    ],
  };
}

// Two columns: how often their values go together, in the original and in the release.
function pair() {
  const narrow = place.clientWidth < 760;
  const width = narrow ? place.clientWidth - 160 : place.clientWidth / 2 - 170;
  const tooltip = [{ field: "label", title: look.first, type: "nominal" },
    { field: "other", title: look.second, type: "nominal" }, shares("before", "original"), shares("after", "release")];
  const high = Math.max(...look.marks.flatMap((mark) => [mark.before, mark.after]));
  const view = (field, title) => ({
    title: { text: title, color: ink, anchor: "start" },
    width,
    height: { step: 24 },
    mark: { type: "rect", stroke: colour("paper") },
    encoding: {
      x: { field: "other", type: "nominal", sort: order("other"), title: look.second, axis: { labelAngle: -40 } },
      y: { field: "label", type: "nominal", sort: order("label"), title: look.first },
      color: {
        field, type: "quantitative", scale: { domain: [0, high], range: [track, after] },
        legend: { format: "%", title: "share of the records", orient: "bottom", gradientLength: 160 }, // one for both
      },
      tooltip,
    },
  });
  return { [narrow ? "vconcat" : "hconcat"]: [view("before", "Original"), view("after", "Release")] };
}

const config = {
  background: null,
  font: getComputedStyle(document.body).fontFamily,
  view: { stroke: null },
  axis: {
    labelColor: ink, titleColor: soft, domainColor: rule, tickColor: rule, gridColor: rule, labelLimit: 150, labelFontSize: 12,
    titleFontSize: 12, titleFontWeight: "normal",
  },
  legend: { labelColor: ink, titleColor: soft },
};
const options = {
  ast: true, mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false,
  tooltip: { disableDefaultStyle: true }, config,
};

try {
  await import("/static/vega.js");
  const spec = { data: { values: look.marks }, ...(look.second === null ? column() : pair()) };
  await window.vegaEmbed(place, spec, options);
  place.querySelector("svg").setAttribute("aria-hidden", "true"); // the place has a label, and the table says the same
  place.dataset.drawn = "yes";
} catch {
  document.getElementById("look-table").open = true; // without the library, the table alone
}
