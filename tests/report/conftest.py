"""A real browser, and a strict HTML validator."""

from browser import browser as browser
from browser import faults_of as faults_of
