"""Files the browser fetches: complete, versioned, and written only when they are not there."""

from __future__ import annotations

import json

import pytest

from ui import assets


def test_everything_is_there_after_one_call_and_the_second_writes_nothing(tmp_path):
    written = assets.ensure_assets(tmp_path)
    assert (tmp_path / assets.deck_name()).read_bytes() == assets.deck_bundle().read_bytes()
    folder = tmp_path / "hex_map" / assets.script_digest()
    assert {path.name for path in folder.iterdir()} >= {"hex_map.js", "hex_map.css", "cell_layer.js"}
    assert set(written) == {path for path in tmp_path.rglob("*") if path.is_file()}
    assert assets.ensure_assets(tmp_path) == []


def test_a_cut_short_copy_is_mended_and_another_version_goes(tmp_path):
    assets.ensure_assets(tmp_path)
    deck = tmp_path / assets.deck_name()
    deck.write_bytes(deck.read_bytes()[:1000])
    (tmp_path / "deck-0.1.js").write_text("old")
    (tmp_path / "hex_map" / "000000000000").mkdir()
    assert assets.ensure_assets(tmp_path) == [deck]
    assert deck.stat().st_size == assets.deck_bundle().stat().st_size
    assert not (tmp_path / "deck-0.1.js").exists()
    assert not (tmp_path / "hex_map" / "000000000000").exists()


def test_addresses_are_relative_so_that_a_base_path_works():
    for address in (assets.deck_url(), assets.script_url()):
        assert address.startswith("app/static/")


def test_land_has_an_address_that_changes_with_its_content(tmp_path):
    land = json.dumps({"type": "Polygon", "coordinates": []})
    address = assets.publish_land("new_york", land, tmp_path)
    assert address == assets.publish_land("new_york", land, tmp_path)
    assert address != assets.publish_land("new_york", land + " ", tmp_path)
    assert (tmp_path / "land" / address.rsplit("/", 1)[1]).read_text() == land


@pytest.mark.parametrize("name", ["../secret", "a/b", "", "ü"])
def test_a_land_file_cannot_leave_its_folder(name, tmp_path):
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        assets.publish_land(name, "{}", tmp_path)
