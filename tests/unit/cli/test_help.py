"""What the commands print as help is what was written, with nothing of it taken for markup."""

import re

import typer
from typer.testing import CliRunner

from combgame.cli.app import app

MARKUP = re.compile(r"\[[a-z#/@]")  # where rich sees a tag


def commands(one, path=()):
    """Every command and every group of commands, with the words that lead to it."""
    yield path, one
    for name, below in getattr(one, "commands", {}).items():
        yield from commands(below, (*path, name))


WIDE = {"COLUMNS": "400"}  # columns that are narrow take turns, line by line
ALL = dict(commands(typer.main.get_command(app)))


def letters(text):
    """Without what a table and its line breaks add."""
    return re.sub(r"[\s\u2500-\u257f]", "", text)


def written(one):
    """The help of a command, by paragraph, and of each of its parameters."""
    yield from re.split(r"\n\s*\n", one.help or "")
    for each in one.params:
        if (text := getattr(each, "help", None)) and not each.hidden:
            yield text


def test_all_commands_are_looked_at():
    assert {("plan",), ("init",), ("study",), ("study", "report"), ("token", "make")} <= set(ALL)
    assert len(ALL) > 35 and sum(len(list(written(one))) for one in ALL.values()) > 200


def test_help_is_printed_as_it_was_written():
    for path, one in ALL.items():
        printed = letters(CliRunner().invoke(app, [*path, "--help"], env=WIDE).output)
        for text in written(one):
            assert letters(text) in printed, path
            assert not MARKUP.search(text), f"{path}: rich takes that for a tag: write no brackets"


def test_what_was_typed_wrongly_is_printed_as_it_was_typed():
    out = CliRunner().invoke(app, ["study", "[truth]"]).output
    assert "[truth]" in out
