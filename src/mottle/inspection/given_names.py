"""Common given names, by which columns of people's names are known without a telling header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mottle.inspection.vocabulary import OTHER_THINGS, words_of

__all__ = ["are_names"]

_FEWEST = 3  # distinct values
_MOST_ALONE = 0.8  # share of values that are a given name and nothing else
_MANY_TOGETHER = 0.5  # share of values that are a given name and one to three other words
_FULL_NAME = re.compile(r"[^\W\d_][^\d@/_]{0,39}")
_WORDS = range(2, 5)
_SAINTS = frozenset(("st", "saint", "sainte", "san", "santa", "sankt", "sint", "são"))  # in places
_FAMILY_NAMES = frozenset(
    "王李张张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐許陳張劉楊黃趙吳김이박최정강조윤장임"
)
_JAPANESE = (
    "佐藤",
    "鈴木",
    "高橋",
    "田中",
    "伊藤",
    "渡辺",
    "山本",
    "中村",
    "小林",
    "加藤",
    "吉田",
    "山田",
)

_GIVEN = frozenset(
    word
    for line in (
        "james john robert michael william david richard joseph thomas charles christopher daniel",
        "matthew anthony mark donald steven paul andrew joshua kenneth kevin brian george edward",
        "ronald timothy jason jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin",
        "scott brandon benjamin samuel gregory frank alexander raymond patrick jack dennis jerry",
        "bob",
        "mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy betty",
        "margaret sandra ashley kimberly emily donna michelle carol amanda dorothy melissa deborah",
        "stephanie rebecca sharon laura cynthia kathleen amy angela shirley anna brenda pamela",
        "emma",
        "nicole helen samantha katherine christine debra rachel carolyn janet catherine maria",
        "heather",
        "diane ruth julie olivia joyce alice ann anne jane tom tim jim bill joe mike dave kate",
        "lucy",
        "hans peter klaus jürgen wolfgang dieter manfred uwe günter werner horst bernd karl heinz",
        "helmut walter stefan andreas martin jörg jens sven lars max felix lukas leon jonas finn",
        "lena",
        "ursula monika petra sabine renate helga brigitte ingrid erika christa gisela birgit",
        "claudia",
        "käthe uta grit heike anja katrin silke ute gabriele julia sophie lea mia hannah clara zoe",
        "jean pierre michel andré philippe jacques louis françois nicolas luc noël julien marie",
        "nathalie isabelle sylvie catherine martine chloé camille léa manon inès céline valérie",
        "josé antonio juan manuel francisco luis javier carlos miguel rafael pedro ángel jesús",
        "carmen maría isabel dolores pilar teresa rosa ana lucía marta elena paula sofía",
        "giuseppe giovanni mario luigi marco francesca giulia chiara paolo andrea alessandro luca",
        "joão paulo tiago beatriz inês pieter johannes willem jan kees anneke sanne daan bram",
        "piotr krzysztof andrzej tomasz paweł łukasz michał marcin katarzyna małgorzata agnieszka",
        "ewa barbara krystyna żaneta jakub jiří petr jana hana lars erik anders karin ingrid",
        "mehmet mustafa ahmet ali hüseyin hasan ibrahim osman ömer fatma ayşe emine hatice zeynep",
        "çağla elif mohammed muhammad mohamed ahmed omar youssef fatima aisha khadija zainab",
        "иван александр сергей дмитрий андрей алексей максим михаил олег пётр николай владимир",
        "анна мария елена ольга татьяна наталья екатерина ирина светлана юлия",
        "γιώργος δημήτρης κώστας γιάννης μαρία ελένη κατερίνα raj amit sanjay priya anita sunita",
        "nguyen minh linh hiroshi yuki sakura kenji",
    )
    for name in line.split()
    for word in words_of(name)
)


def are_names(values: Sequence[str]) -> bool:
    """Tell whether values are names of people.

    Parameters
    ----------
    values : sequence of str
        Distinct texts of a column.

    Returns
    -------
    bool
        Whether most of them have a common given name, alone or with one to three other words.

    Examples
    --------
    >>> are_names(["Anna Weiß", "Groß, Bernd", "Jörg Vogel"]), are_names(["Paris", "Rome", "Ulm"])
    (True, False)
    """
    if len(values) < _FEWEST:
        return False
    alone = together = 0
    for value in values:
        words = words_of(value) if _FULL_NAME.fullmatch(value.strip()) else ()
        given = not _GIVEN.isdisjoint(words) and _SAINTS.isdisjoint(words)
        alone += (given and len(words) == 1) or _is_east_asian(value.strip())
        together += given and len(words) in _WORDS and not OTHER_THINGS.fits(words)
    return alone + together >= _MOST_ALONE * len(values) or together > _MANY_TOGETHER * len(values)


def _is_east_asian(value: str) -> bool:
    """A common family name and one to three more signs, as Chinese and Korean names are."""
    signs = value.replace(" ", "").replace("\u3000", "")
    if not 2 <= len(signs) <= 5 or not all("\u3400" <= sign <= "\ud7af" for sign in signs):
        return False
    return signs.startswith(_JAPANESE) or (signs[0] in _FAMILY_NAMES and len(signs) <= 3)
