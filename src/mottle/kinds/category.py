"""Categories: values without an order of their own, published as sets."""

from __future__ import annotations

from mottle.kinds.base import Kind, register
from mottle.kinds.forms.base import Form


@register
class Category(Kind):
    """A value is coded by its rank, which has no meaning."""

    name = "category"
    form = Form.SET
    usage = "category"
    is_unordered = True
