"""The screens of the studio, in the order of the work."""

from mottle.studio.screens.attack import ATTACK
from mottle.studio.screens.base import Screen
from mottle.studio.screens.columns import COLUMNS
from mottle.studio.screens.open import OPEN
from mottle.studio.screens.promise import PROMISE
from mottle.studio.screens.publish import PUBLISH
from mottle.studio.screens.run import RUN
from mottle.studio.screens.use import USE
from mottle.studio.screens.values import VALUES

SCREENS: dict[str, Screen] = {
    screen.name: screen for screen in (OPEN, COLUMNS, VALUES, PROMISE, RUN, USE, ATTACK, PUBLISH)
}
