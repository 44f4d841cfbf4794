"""R scripts that use sdcMicro, read literally."""

from __future__ import annotations

from pathlib import Path

import pytest

from mottle.errors import DataError
from mottle.io.projects.r_text import parse_script
from mottle.io.projects.sdcmicro import read_sdcmicro
from mottle.schema.model import Role

SCRIPT = """
library(sdcMicro)   # createSdcObj(dat = wrong, keyVars = "wrong")
file <- read.csv("survey 2024.csv", sep = ";")
selected = c('urbrur', "water", `sex` = "sex")
keys <- c("urbrur", "water", 'sex', "age")
sdc <- createSdcObj(
  dat = file, keyVars = keys, numVars = c("expend", "income"),
  weightVar = "weight", hhId = "hh", sensibleVar = "ill", pramVars = NULL,
  randomizeRecords = FALSE, alpha = c(0.5, 0.5))
sdc <- kAnon(sdc, k = 3)
sdc <- addNoise(sdc, noise = 10)
sdc <- kAnon(sdc, k = c(5))
"""


def read(folder: Path, text: str) -> object:
    (folder / "script.R").write_text(text, encoding="utf-8")
    return read_sdcmicro(folder / "script.R")


def test_the_arguments_of_a_script_become_roles(tmp_path: Path) -> None:
    (tmp_path / "script.R").write_text(SCRIPT, encoding="utf-8")
    found = read_sdcmicro(tmp_path / "script.R")
    roles = {column.name: column.role for column in found.columns}
    assert roles == {
        **dict.fromkeys(
            ("urbrur", "water", "sex", "age", "expend", "income"), Role.QUASI_IDENTIFYING
        ),
        "ill": Role.SENSITIVE,
        "hh": Role.PERSON,
        "weight": Role.INSENSITIVE,
    }
    assert found.guarantee == ("--k", "5")
    assert found.data == "survey 2024.csv"
    assert found.survey_weight == "weight"
    lost = [each.setting for each in found.settings if not each.kept]
    assert "addNoise(…)" in lost
    assert "alpha of createSdcObj" in lost


@pytest.mark.parametrize(
    "argument",
    ["names(file)[1:4]", "c(1, 3, 7)", 'paste0("a", "b")', 'c("a", f())', "unknown"],
)
def test_what_would_have_to_be_evaluated_is_refused(tmp_path: Path, argument: str) -> None:
    with pytest.raises(DataError, match="keyVars of createSdcObj"):
        read(tmp_path, f"createSdcObj(dat = x, keyVars = {argument})")


@pytest.mark.parametrize(
    "text",
    ["x <- 1", "# createSdcObj(dat, keyVars = 'a')", "'createSdcObj(dat)'", "createSdcObj(", "("],
)
def test_a_script_without_the_call_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="no call of createSdcObj"):
        read(tmp_path, text)


def test_a_variable_that_was_assigned_anew_has_no_old_value() -> None:
    call = next(parse_script("k <- 'a'\nk <- f()\ng(x = k)").of("g"))
    assert call.named == {"x": None}


def test_deeply_nested_text_does_not_end_in_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read(tmp_path, "c(" * 5000 + ")" * 5000)
