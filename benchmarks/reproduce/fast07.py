"""FAST07, §6: Figures 12 to 20. The paper prints no numbers."""

from __future__ import annotations

from benchmarks.reproduce.claims import below, both, fitted_below, grows, reaches, stays
from benchmarks.reproduce.data import ALL
from benchmarks.reproduce.figure import Claim, Figure, Panel
from benchmarks.reproduce.sweeps import method, sweep

CENTRES = "FAST07-why-centres"
TAXONOMIES = "FAST07-why-topdown"
MONDRIAN = "FAST07-why-mondrian"
CUBE = "FAST07-why-cube"

ONE_DIMENSIONAL = {
    "Hilb": method("hilbert"),
    "HilbFast": method("hilbert-fast"),
    "iDist": method("idistance"),
    "iDistFast": method("idistance-fast"),
}
MONDRIANS = {"Mondrian": method("mondrian")}
TOPDOWN = {"TopDown": method("topdown")}
FOR_K = {**ONE_DIMENSIONAL, **MONDRIANS}
FOR_L = {"Hilb": method("hilbert"), "iDist": method("idistance"), **MONDRIANS}
FOR_CUBE = {**FOR_L, "Anatomy": method("anatomy")}
ROWS = 200_000
SIZES = (50_000, 100_000, 200_000, ALL)
DIMENSIONS = (1, 2, 3, 4, 5, 6, 7)
TIMED = (
    Panel("(a) information loss", "loss"),
    Panel("(b) execution time", "seconds", y_title="seconds"),
)
CENSUS = "The CENSUS substitute with taxonomies made for it."
WHY_TOPDOWN = f"TopDown follows the loss of a tree where no curve can ({TAXONOMIES})."
WHY_MONDRIAN = (
    "The paper does not say which Mondrian it ran, and ours cuts further than one that cuts nodes"
    f" of a taxonomy into all their children ({MONDRIAN} has four)."
)


def _claims_of_loss(*, topdown: bool) -> list[Claim]:
    rivals = ("Mondrian", "TopDown") if topdown else ("Mondrian",)
    return [
        claim
        for ours in ("Hilb", "iDist")
        for rival in rivals
        for claim in (
            Claim(
                f"{ours} loses less than {rival} in all cases.",
                below(ours, rival),
                WHY_TOPDOWN if rival == "TopDown" else WHY_MONDRIAN,
            ),
        )
    ]


FIGURES = [
    Figure(
        id="FAST07-12",
        title="GCP and discernibility over k, ADULT",
        paper="30,162 records, eight quasi-identifiers of which two are numbers, taxonomies,"
        " k = 5 to 50.",
        ours="The same records; age and education-num are the numbers, taxonomies are those of"
        " ARX. Mondrian with strict cuts alone is shown as well.",
        x_title="k",
        panels=[
            Panel("(a) GCP", "loss"),
            Panel("(b) DM", "discernibility", y_title="discernibility", log_y=True),
        ],
        points=sweep(
            "generalize",
            {**FOR_K, **TOPDOWN, "Mondrian, strict": method("mondrian-strict")},
            "k",
            (5, 10, 20, 30, 40, 50),
            data="adult 8",
            rows=30_162,
            taxonomies=True,
        ),
        minutes=6,
        claims=[
            *_claims_of_loss(topdown=True),
            Claim(
                "By DM, Mondrian is an order of magnitude worse.",
                reaches("Hilb", "Mondrian", "discernibility", 8, somewhere=False),
                f"{WHY_MONDRIAN} Not with any of them: all cut until no part can be cut.",
            ),
            Claim(
                "By DM, Hilb, iDist and TopDown are alike.",
                both(
                    below("iDist", "Hilb", "discernibility", factor=1.25),
                    below("TopDown", "Hilb", "discernibility", factor=1.25),
                ),
            ),
        ],
    ),
    Figure(
        id="FAST07-13",
        title="Loss and time over k, CENSUS",
        paper="200,000 rows, seven quasi-identifiers, k = 10 to 100; TopDown took two hours.",
        ours=f"{CENSUS} TopDown is left out, as in the paper's time; FAST07-14 has it up to"
        f" 100,000 rows, {TAXONOMIES} over k.",
        x_title="k",
        panels=TIMED,
        points=sweep(
            "generalize",
            FOR_K,
            "k",
            (10, 25, 50, 75, 100),
            data="census",
            rows=ROWS,
            columns=7,
            taxonomies=True,
        ),
        minutes=5,
        claims=[
            *_claims_of_loss(topdown=False),
            Claim(
                "HilbFast loses less than Mondrian.", below("HilbFast", "Mondrian"), WHY_MONDRIAN
            ),
            Claim("Mondrian is faster than Hilb.", below("Mondrian", "Hilb", "seconds")),
            Claim(
                "HilbFast takes no longer than Mondrian.",
                below("HilbFast", "Mondrian", "seconds", factor=1.2),
                "At large k Mondrian has fewer cuts to make, which the table shows; HilbFast sorts"
                " all records whatever k is.",
            ),
            Claim("iDist is slower than Hilb.", below("Hilb", "iDist", "seconds")),
        ],
    ),
    Figure(
        id="FAST07-14",
        title="Loss and time over n, CENSUS",
        paper="k = 50, 50,000 to 400,000 rows.",
        ours=f"{CENSUS} It has 295,243 rows. TopDown, whose time is quadratic, up to 100,000.",
        x_title="n",
        panels=TIMED,
        points=sweep(
            "generalize",
            {**FOR_K, **TOPDOWN},
            "rows",
            SIZES,
            upto={"TopDown": 100_000},
            data="census",
            columns=7,
            k=50,
            taxonomies=True,
        ),
        minutes=20,
        claims=[
            Claim("The loss of all methods falls with n.", grows(tuple(FOR_K), falling=True)),
            *_claims_of_loss(topdown=True),
            Claim("Time grows with n.", grows(tuple(FOR_K), "seconds")),
        ],
    ),
    Figure(
        id="FAST07-15",
        title="Loss and time over d, CENSUS",
        paper="200,000 rows, k = 50, d = 1 to 7.",
        ours=CENSUS,
        x_title="d",
        panels=TIMED,
        points=sweep(
            "generalize",
            FOR_K,
            "columns",
            DIMENSIONS,
            data="census",
            rows=ROWS,
            k=50,
            taxonomies=True,
        ),
        minutes=5,
        claims=[
            *_claims_of_loss(topdown=False),
            Claim(
                "For few attributes the loss of Hilb and iDist is close to 0.",
                below("Hilb", "Mondrian", at=(1, 2)),
            ),
            Claim("Time hardly depends on d.", stays(("Hilb", "Mondrian"), "seconds", within=6)),
        ],
    ),
    Figure(
        id="FAST07-16",
        title="ℓ-diversity: loss and time over ℓ, CENSUS",
        paper="200,000 rows, ℓ = 2 to 13, occupation is sensitive.",
        ours=CENSUS,
        x_title="ℓ",
        panels=TIMED,
        points=sweep(
            "generalize",
            FOR_L,
            "l",
            (2, 3, 5, 7, 9, 11, 13),
            data="census",
            rows=ROWS,
            columns=7,
            taxonomies=True,
        ),
        minutes=4,
        claims=[
            Claim("Hilb loses less than Mondrian.", below("Hilb", "Mondrian"), WHY_MONDRIAN),
            Claim(
                "iDist follows closely.",
                below("iDist", "Hilb", factor=1.5),
                f"512 centres are few for small groups; with more it does ({CENTRES}).",
            ),
            Claim(
                "Hilb takes about the time of Mondrian.",
                below("Hilb", "Mondrian", "seconds", factor=2),
            ),
        ],
    ),
    Figure(
        id="FAST07-17",
        title="ℓ-diversity: loss and time over n, CENSUS",
        paper="ℓ = 5, 50,000 to 400,000 rows.",
        ours=f"{CENSUS} It has 295,243 rows.",
        x_title="n",
        panels=TIMED,
        points=sweep(
            "generalize", FOR_L, "rows", SIZES, data="census", columns=7, l=5, taxonomies=True
        ),
        minutes=3,
        claims=[
            Claim("Loss falls with n.", grows(("Hilb", "iDist"), falling=True)),
            Claim("Hilb loses less than Mondrian.", below("Hilb", "Mondrian"), WHY_MONDRIAN),
        ],
    ),
    Figure(
        id="FAST07-18",
        title="ℓ-diversity: loss and time over d, CENSUS",
        paper="200,000 rows, ℓ = 5, d = 1 to 7.",
        ours=CENSUS,
        x_title="d",
        panels=TIMED,
        points=sweep(
            "generalize",
            FOR_L,
            "columns",
            DIMENSIONS,
            data="census",
            rows=ROWS,
            l=5,
            taxonomies=True,
        ),
        minutes=3,
        claims=[
            Claim(
                "Hilb and iDist lose less than Mondrian.",
                both(below("Hilb", "Mondrian"), below("iDist", "Mondrian")),
                WHY_MONDRIAN,
            ),
            Claim("Time hardly depends on d.", stays(("Hilb", "Mondrian"), "seconds", within=6)),
        ],
    ),
    Figure(
        id="FAST07-19",
        title="ℓ-diversity: loss and time over the number m of sensitive values",
        paper="200,000 rows, ℓ = 5; occupations are merged by ranges.",
        ours=f"{CENSUS} Runs of occupation codes are merged.",
        x_title="m",
        panels=TIMED,
        points=sweep(
            "generalize",
            FOR_L,
            "values",
            (10, 20, 30, 40, 50),
            data="census",
            rows=ROWS,
            columns=7,
            l=5,
            taxonomies=True,
        ),
        minutes=3,
        claims=[
            Claim("Loss falls with m.", grows(tuple(FOR_L), falling=True, slack=0.05)),
            Claim("Time does not depend on m.", stays(tuple(FOR_L), "seconds", within=2)),
        ],
    ),
    Figure(
        id="FAST07-20",
        title="KL divergence of the OLAP cube",
        paper="CENSUS, 200,000 rows: (a) over ℓ at level 2, (b) over the level with ℓ = 5, (c) over"
        " d, (d) over n; group-bys with the sensitive value, records uniform within a group.",
        ours=f"{CENSUS} (d) goes to 295,243 rows; (b) has 20,000, because all cells of up to 35"
        " group-bys of several attributes are estimated. Natural logarithm, mean over the group-bys"
        " of a level.",
        x_title="ℓ",
        panels=[
            Panel("(a) over ℓ", "error", "ℓ", "KL divergence", "ℓ", log_y=True),
            Panel("(b) over the level", "error", "level", "KL divergence", "level", log_y=True),
            Panel("(c) over d", "error", "d", "KL divergence", "d", log_y=True),
            Panel("(d) over n", "error", "n", "KL divergence", "n", log_y=True),
        ],
        points=[
            *sweep(
                "cube",
                FOR_CUBE,
                "l",
                (2, 3, 5, 7, 10, 13),
                group="ℓ",
                data="census",
                rows=ROWS,
                columns=7,
                level=2,
                fitted=True,
            ),
            *sweep(
                "cube",
                FOR_CUBE,
                "level",
                DIMENSIONS,
                group="level",
                data="census",
                rows=20_000,
                columns=7,
                l=5,
            ),
            *sweep(
                "cube",
                FOR_CUBE,
                "columns",
                (2, 3, 4, 5, 6, 7),
                group="d",
                data="census",
                rows=ROWS,
                l=5,
                level=2,
            ),
            *sweep(
                "cube",
                FOR_CUBE,
                "rows",
                SIZES,
                group="n",
                data="census",
                columns=7,
                l=5,
                level=2,
            ),
        ],
        minutes=40,
        claims=[
            Claim(
                "At small ℓ, Hilb is two orders of magnitude better than Mondrian.",
                reaches("Hilb", "Mondrian", "error", 50, groups=["ℓ"]),
                f"{WHY_MONDRIAN} {CUBE} shows where the error comes from.",
            ),
            Claim(
                "At small ℓ, Hilb is one order of magnitude better than Anatomy.",
                reaches("Hilb", "Anatomy", "error", 5, groups=["ℓ"]),
                f"{CUBE} shows where the error comes from.",
            ),
            Claim(
                "Hilb and iDist are better than Mondrian at every level.",
                both(
                    below("Hilb", "Mondrian", "error", groups=["level"]),
                    below("iDist", "Mondrian", "error", groups=["level"]),
                ),
                WHY_MONDRIAN,
            ),
            Claim(
                "At fine levels Anatomy does as well as Hilb.",
                below("Anatomy", "Hilb", "error", factor=1.3, groups=["level"], at=(6, 7)),
            ),
            Claim(
                "The error of Hilb and iDist falls with n.",
                grows(("Hilb", "iDist"), "error", falling=True, groups=["n"]),
            ),
        ],
    ),
]

THREE_WAYS = {
    "taxonomies": {"data": "census", "taxonomies": True},
    "categories as sets": {"data": "census", "taxonomies": False},
    "all as numbers": {"data": "census numbers", "taxonomies": False},
}

EXPERIMENTS = [
    Figure(
        id=CENTRES,
        title="how many centres iDist has",
        paper="",
        explains="Why does iDist lose up to twice as much as Hilb at ℓ = 2 and 3?",
        ours="CENSUS with taxonomies, 50,000 rows. iDist with the paper's 512 centres and with"
        " more of them. Records of one centre are ordered by their distance from it alone, so that"
        " many are side by side that lie on opposite sides of it; the smaller groups are, the more"
        " this costs.",
        x_title="ℓ",
        panels=[Panel("", "loss", log_y=True)],
        points=sweep(
            "generalize",
            {
                "Hilb": method("hilbert"),
                **{
                    f"iDist, {centres:,}": method("idistance", options={"centres": centres})
                    for centres in (64, 512, 4_096, 16_384)
                },
            },
            "l",
            (2, 3, 5, 9, 13),
            data="census",
            rows=50_000,
            columns=7,
            taxonomies=True,
        ),
        minutes=1,
        claims=[
            Claim(
                "With 4,096 centres iDist follows closely, within a fifth.",
                below("iDist, 4,096", "Hilb", factor=1.2),
            ),
            Claim(
                "More centres lose less at ℓ = 2.",
                both(
                    below("iDist, 512", "iDist, 64", at=(2,)),
                    below("iDist, 4,096", "iDist, 512", at=(2,)),
                    below("iDist, 16,384", "iDist, 4,096", at=(2,)),
                ),
            ),
        ],
    ),
    Figure(
        id=TAXONOMIES,
        title="TopDown with and without taxonomies",
        paper="",
        explains="Why does TopDown lose less than Hilb with taxonomies, which is the paper's own"
        " setting?",
        ours="CENSUS, 10,000 rows, k = 5 to 100, the same columns in three ways: with taxonomies,"
        " as sets of categories, and all as numbers (their codes). Along a curve, neighbours are"
        " near as numbers are; whether two values share a small node of a tree the curve does not"
        " know, and TopDown measures.",
        x_title="k",
        panels=[Panel(name, "loss", name) for name in THREE_WAYS],
        points=[
            point
            for name, way in THREE_WAYS.items()
            for point in sweep(
                "generalize",
                {"Hilb": method("hilbert"), "iDist": method("idistance"), **MONDRIANS, **TOPDOWN},
                "k",
                (5, 10, 25, 50, 100),
                group=name,
                rows=10_000,
                columns=7,
                **way,
            )
        ],
        minutes=5,
        claims=[
            Claim(
                "As numbers, Hilb loses less than TopDown.",
                below("Hilb", "TopDown", groups=["all as numbers"]),
                "Not at small k either: there TopDown, which compares all pairs, finds closer"
                " records than any order has side by side.",
            ),
            Claim(
                "With taxonomies, TopDown loses less than Hilb at every k.",
                below("TopDown", "Hilb", groups=["taxonomies"]),
            ),
        ],
    ),
    Figure(
        id=MONDRIAN,
        title="four Mondrians",
        paper="",
        explains="Why is Mondrian here not as far behind as in the paper?",
        ours="ADULT (30,162 records, over k) and CENSUS (50,000 rows, over ℓ), with taxonomies:"
        " Hilb, Mondrian as here (strict cuts at medians, also in the order of a taxonomy's leaves,"
        " then relaxed ones), with strict cuts alone, with relaxed cuts alone, and by nodes: a"
        " taxonomy is cut only where all children of a node have enough records, as Mondrian's"
        " authors describe it.",
        x_title="k",
        panels=[
            Panel("loss, ADULT", "loss", "ADULT"),
            Panel("DM, ADULT", "discernibility", "ADULT", "discernibility", log_y=True),
            Panel("loss, CENSUS", "loss", "CENSUS", x_title="ℓ"),
            Panel("DM, CENSUS", "discernibility", "CENSUS", "discernibility", "ℓ", log_y=True),
        ],
        points=[
            point
            for group, along, xs, common in (
                ("ADULT", "k", (5, 10, 20, 50), {"data": "adult 8", "rows": 30_162}),
                ("CENSUS", "l", (2, 5, 10, 13), {"data": "census", "rows": 50_000, "columns": 7}),
            )
            for point in (
                *sweep(
                    "generalize",
                    {
                        "Hilb": method("hilbert"),
                        **MONDRIANS,
                        "Mondrian, strict": method("mondrian-strict"),
                        "Mondrian, relaxed": method("mondrian-relaxed"),
                    },
                    along,
                    xs,
                    group=group,
                    taxonomies=True,
                    **common,
                ),
                *sweep(
                    "node_mondrian", {"Mondrian, by nodes": {}}, along, xs, group=group, **common
                ),
            )
        ],
        minutes=2,
        claims=[
            Claim(
                "By nodes, Mondrian loses at least 1.3 times as much as Hilb.",
                reaches("Hilb", "Mondrian, by nodes", "loss", 1.3, somewhere=False),
            ),
            Claim("By nodes, it loses more than ours.", below("Mondrian", "Mondrian, by nodes")),
            Claim(
                "For ℓ-diversity its discernibility is an order of magnitude above that of Hilb.",
                reaches("Hilb", "Mondrian, by nodes", "discernibility", 10, groups=["CENSUS"]),
            ),
        ],
    ),
    Figure(
        id=CUBE,
        title="what makes the cube's error",
        paper="",
        explains="Why is Hilb not orders of magnitude better than Mondrian and Anatomy on the"
        " cube?",
        ours="As Figure 20 (a), level 2, with Mondrian of strict cuts as well; under"
        " the uniform assumption, and with values weighted by what the release says. The error of"
        " Anatomy comes from the values of a group alone, that of the others mostly from the"
        " uniform assumption.",
        x_title="ℓ",
        panels=[
            Panel("uniform", "error", y_title="KL divergence", log_y=True),
            Panel("fitted", "error, fitted", y_title="KL divergence", log_y=True),
        ],
        points=sweep(
            "cube",
            {**FOR_CUBE, "Mondrian, strict": method("mondrian-strict")},
            "l",
            (2, 3, 5, 7, 10, 13),
            data="census",
            rows=ROWS,
            columns=7,
            level=2,
            fitted=True,
        ),
        minutes=3,
        claims=[
            Claim(
                "Fitted values have a lower error than the uniform assumption for Hilb.",
                fitted_below("Hilb"),
                "At ℓ = 2 fitted values say of some cell of the cube that it is empty, and it is"
                " not, which makes the divergence infinite.",
            ),
            Claim(
                "The error of Anatomy is the same either way: its cells are exact.",
                fitted_below("Anatomy", factor=1.0001),
            ),
        ],
    ),
]
