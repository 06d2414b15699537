"""Classes found by name."""

from __future__ import annotations

import pytest

from minimx.core.errors import ArgumentError
from minimx.tools.catalogue import Catalogue


class Shape:
    def __init__(self, size: int = 1) -> None:
        self.size = size


def shapes() -> Catalogue[Shape]:
    made: Catalogue[Shape] = Catalogue(Shape, "shape")

    @made.register("disc")
    class Circle(Shape):
        pass

    return made


def test_a_class_is_found_by_name_and_nickname_in_any_case() -> None:
    known = shapes()
    for name in ("circle", "Circle", "DISC"):
        assert known.create(name, size=4).size == 4


def test_an_instance_passes_through() -> None:
    one = shapes().create("disc")
    assert shapes().create(one) is one


def test_settings_do_not_go_with_an_instance() -> None:
    known = shapes()
    with pytest.raises(ArgumentError, match="exists already"):
        known.create(known.create("disc"), size=3)


def test_json_text_holds_name_and_settings() -> None:
    assert shapes().create('["circle", {"size": 7}]').size == 7


@pytest.mark.parametrize("text", ["[", "[1, 2, 3]", '["circle"]', '["circle", 3]'])
def test_bad_json_is_a_clear_error(text: str) -> None:
    with pytest.raises(ArgumentError, match="expected JSON"):
        shapes().create(text)


def test_an_unknown_name_suggests_a_known_one() -> None:
    with pytest.raises(ArgumentError, match=r"no shape called 'circel'.*circle\?"):
        shapes().create("circel")


def test_only_members_of_the_family_are_registered() -> None:
    with pytest.raises(ArgumentError, match="no subclass of Shape"):
        shapes().register(int)


def test_a_name_is_wanted() -> None:
    with pytest.raises(ArgumentError, match="not as int"):
        shapes().create(3)
