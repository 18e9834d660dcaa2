"""From the header of a file to a schema and the column of each field; the user's corrections on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ldpcore.errors import ParameterError, TripFileError
from ldpcore.trips.names import BARE_IDS, PERSON_NAMES, START_WORDS, TRIP_NAMES, guess, reduce_name, words_of
from ldpcore.trips.schemas import FIELDS, SCHEMAS, Schema

_GENERIC_LABEL = "columns recognised by their names"


@dataclass(frozen=True)
class Recognised:
    """A schema with the column of each of its fields.

    Attributes
    ----------
    schema
        The row of `SCHEMAS`, or one made from the names for an unknown vendor.
    places
        Canonical column to place in the header.
    reasons
        Sentences that say why.
    bare_id
        Whether the trip id is a column named "id" only, so that what it holds has to tell.
    """

    schema: Schema
    places: Mapping[str, int]
    reasons: tuple[str, ...] = ()
    bare_id: bool = False


def recognise(
    names: Sequence[str],
    *,
    label: str = "The file",
    given: Mapping[str, int] | None = None,
    schema_name: str = "",
) -> Recognised:
    """Find the schema of a header and the column of each field.

    Parameters
    ----------
    names
        Column names of the file.
    label
        Label of the file, for the message.
    given
        Canonical column to place, where the kind of file settles it.
    schema_name
        Row of `SCHEMAS` that the kind of file settles.

    Raises
    ------
    TripFileError
        If the schema is known not to work; the sentence says what to do. A header of no known
        schema gives what its words tell, which `read_trips` refuses unless it is enough.
    """
    known = dict(given or {})
    reduced = [reduce_name(name) for name in names]
    present = set(reduced)
    schema = next((s for s in SCHEMAS if s.name == schema_name), None)
    if schema is None and not known:
        schema = next((s for s in SCHEMAS if s.signature and _matches(s, present)), None)
    if schema is None or (schema_name and not schema.fields):
        return _by_words(names, known, schema)
    if schema.refusal:
        raise TripFileError(f"{label} {schema.refusal}")
    places = dict(known)
    for canonical, spellings in schema.fields.items():
        place = next((reduced.index(s) for s in spellings if s in present), None)
        if place is not None:
            places.setdefault(canonical, place)
    if {"start_lat", "start_lng"} <= places.keys():
        places.pop("geometry", None)
    shown = ", ".join(names[place] for place in list(places.values())[:4])
    reasons = [f"Recognised as {schema.label} by its columns {shown}."]
    if schema.note:
        reasons.append(schema.note)
    # A vendor's file that somebody gave ids has them under a name of their own.
    for canonical, usual in () if schema.columns else (("trip", TRIP_NAMES), ("device", PERSON_NAMES)):
        if canonical not in places:
            place = next((p for p, r in enumerate(reduced) if r in usual and p not in places.values()), None)
            if place is not None:
                places[canonical] = place
                reasons.append(f"{names[place]} looks like {FIELDS[canonical]}.")
    return _with_bare_id(Recognised(schema, places, tuple(reasons)), reduced)


def correct(recognised: Recognised, names: Sequence[str], mapping: Mapping[str, str]) -> Recognised:
    """Apply the user's corrections; an empty column name takes a field out.

    Raises
    ------
    ParameterError
        If a field or a column does not exist.
    """
    places = dict(recognised.places)
    reasons = list(recognised.reasons)
    bare_id = recognised.bare_id and "trip" not in mapping
    if bare_id and names[places["trip"]] in mapping.values():
        del places["trip"]
        bare_id = False
    for canonical, column in mapping.items():
        if canonical not in FIELDS:
            raise ParameterError(
                "mapping", f"There is no field {canonical!r} in the mapping; fields are {', '.join(FIELDS)}."
            )
        if not column:
            places.pop(canonical, None)
            continue
        if column not in names:
            shown = ", ".join(names[:30])
            raise ParameterError("mapping", f"The file has no column {column!r}; it has {shown}.")
        if places.get(canonical) != list(names).index(column):
            places[canonical] = list(names).index(column)
            reasons.append(f"You chose {column} as {FIELDS[canonical]}.")
    return Recognised(recognised.schema, places, tuple(reasons), bare_id)


def _with_bare_id(recognised: Recognised, reduced: Sequence[str]) -> Recognised:
    """Take a column named "id" for that of trips until its content is known; points of paths have no such."""
    taken = recognised.places
    place = next((p for p, r in enumerate(reduced) if r in BARE_IDS and p not in taken.values()), None)
    if place is None or "trip" in taken or recognised.schema.points or recognised.schema.columns:
        return recognised
    return replace(recognised, places={**taken, "trip": place}, bare_id=True)


def _matches(schema: Schema, present: set[str]) -> bool:
    return all(_has(part, present) for part in schema.signature) and not present & set(schema.unless)


def _has(part: str | tuple[str, ...], present: set[str]) -> bool:
    return part in present if isinstance(part, str) else any(p in present for p in part)


def _by_words(names: Sequence[str], known: Mapping[str, int], settled: Schema | None) -> Recognised:
    places = guess(names, known)
    reasons = [
        f"{names[place]} looks like {FIELDS[field]}." for field, place in places.items() if field not in known
    ]
    if settled is not None:
        note = (settled.note,) if settled.note else ()
        return Recognised(settled, places, (f"The file is {settled.label}.", *note, *reasons))
    # Plain "lat" and "lng" with an id of trips are points of paths; a "start_lat" is a start.
    plain = "start_lat" in places and not set(words_of(names[places["start_lat"]])) & START_WORDS
    schema = Schema("named", _GENERIC_LABEL, points=plain)
    found = Recognised(schema, places, tuple(reasons))
    return _with_bare_id(found, [reduce_name(name) for name in names])
