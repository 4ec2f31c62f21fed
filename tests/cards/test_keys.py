from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.cards.keys import MAX_KEY, capsule_key, doi_slug, safe_name


@pytest.mark.parametrize(
    ("doi", "slug"),
    [
        ("10.1038/nmeth.4197", "10_1038_nmeth_4197"),
        ("10.1093/nar/gkv007", "10_1093_nar_gkv007"),
        ("https://doi.org/10.21105/joss.01234", "10_21105_joss_01234"),
        ("doi:10.1/A", "10_1_a"),
        (
            "10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2",
            "10_1002__sici_1097_0258_19980815_30_17_15_16_1661__aid_sim968_3_0_co_2_2",
        ),
        ("10.1/é Ω", "10_1____"),
    ],
)
def test_each_character_of_a_doi_outside_of_a_z_0_9_is_one_underscore(doi: str, slug: str) -> None:
    assert doi_slug(doi) == slug


def test_a_card_without_a_doi_is_keyed_by_its_paper() -> None:
    assert capsule_key(task_id="task_001", paper="archr", doi=None) == "archr__task_001"
    assert capsule_key(task_id="task_001", paper="archr", doi="10.1/X") == "10_1_x__task_001"


@given(st.text(min_size=1, max_size=400), st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", fullmatch=True))
def test_a_key_is_bounded_and_ends_with_its_task(doi: str, task: str) -> None:
    key = capsule_key(task_id=task, paper="p", doi=doi)
    assert len(key) <= MAX_KEY
    assert key.endswith(f"__{task}")


def test_long_dois_that_differ_at_their_end_keep_different_keys() -> None:
    keys = {capsule_key(task_id="t", paper="p", doi="10.1/" + "x" * 200 + end) for end in "ab"}
    assert len(keys) == 2


@given(st.text(min_size=1, max_size=200))
def test_a_safe_name_fits_files_and_registries(key: str) -> None:
    name = safe_name(key)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name)
    assert ".." not in name


def test_a_key_that_is_safe_stays_as_it_is() -> None:
    assert safe_name("10_1038_nmeth_4197__task_001") == "10_1038_nmeth_4197__task_001"
