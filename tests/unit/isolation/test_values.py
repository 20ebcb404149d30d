"""What a worker may hand over: values, and nothing that calls."""

import pickle
from typing import Any

import pytest

from monitor.isolation.pool import load_value
from monitor.vocabulary import SummaryBy


class Call:
    """Pickled as the call of a function with arguments."""

    def __init__(self, *call: Any) -> None:
        self._call = call

    def __reduce__(self) -> Any:
        function, *args = self._call
        return function, tuple(args)


@pytest.mark.parametrize("value", [SummaryBy.EXTRACT, Call(getattr, SummaryBy, "EXTRACT")])
def test_a_member_of_an_enum_arrives_as_every_python_writes_it(value: Any) -> None:
    """Python 3.11.2 of Debian 12 writes getattr(SummaryBy, "EXTRACT"), others SummaryBy("extract")."""
    assert load_value(pickle.dumps(value)) is SummaryBy.EXTRACT


@pytest.mark.parametrize(
    "call", [(getattr, SummaryBy, "mro"), (getattr, SummaryBy, "__init__"), (getattr, str, "format"), (eval, "1")]
)
def test_nothing_else_is_reached_that_way(call: tuple[Any, ...]) -> None:
    with pytest.raises(pickle.UnpicklingError, match="is no value"):
        load_value(pickle.dumps(Call(*call)))
