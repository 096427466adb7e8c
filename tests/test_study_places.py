"""Where studies are kept: what is refused for what it is, what can only be looked at, and which
clock they go by.
"""

import os
import socket
from contextlib import closing, suppress

import pytest

import combgame as cg
from combgame.campaign.opening import open_store
from combgame.storage.urls import url_of

from .said import refused
from .studies import PROBLEM, command

posix = pytest.mark.skipif(os.name != "posix", reason="such files are POSIX's")


def study(url, **settings):
    return cg.Study(PROBLEM, storage=url, engine="python", rule="uniform", **settings)


# ---- what is no file, or not only one


@pytest.mark.parametrize("name", ["a?b.db", "a?", "a?b=1&c.db", "a?=.db"])
def test_a_question_mark_never_leaves_out_a_part_of_the_name(tmp_path, name):
    with refused("url-question", cg.InputError) as caught:
        study(f"sqlite:///{tmp_path}/{name}")
    assert "%3F" in caught.value.remedy and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a?b.db", "50%.db", "a%3Fb.db", "plate 7.db", "a?b=1.db"])
def test_a_file_of_any_name_has_a_url(tmp_path, name):
    url = url_of(f"{tmp_path}/{name}")
    with study(url) as made:
        made.ask()
        made.copy(url_of(f"{tmp_path}/copy?.db"))
    assert {one.name for one in tmp_path.iterdir()} == {name, "copy?.db"}
    with cg.Study.open(url_of(f"{tmp_path}/copy?.db")) as copy:
        assert len(copy.pending) == 1


def test_the_command_copies_a_file_of_any_name(tmp_path):
    study(url_of(f"{tmp_path}/a?b.db")).close()
    command("copy", tmp_path / "a?b.db", tmp_path / "copy.db")
    assert cg.Study.open(f"sqlite:///{tmp_path}/copy.db").state == "running"


@posix
def test_what_is_no_file_is_refused_for_what_it_is(tmp_path):
    """Opening a pipe would wait for somebody at its other end, for ever."""
    os.mkfifo(tmp_path / "pipe.db")
    with suppress(OSError), closing(socket.socket(socket.AF_UNIX)) as made:
        made.bind(str(tmp_path / "socket.db"))
    places = [(tmp_path / "pipe.db", "a pipe (FIFO)"), ("/dev/null", "a device")]
    if (tmp_path / "socket.db").exists():
        places.append((tmp_path / "socket.db", "a socket"))
    for place, kind in places:
        about = {"path": str(place), "kind": kind}
        for use in (study, cg.Study.open):
            with refused("not-regular", cg.StoreError, **about):
                use(f"sqlite:///{place}")
        with refused("not-regular", cg.StoreError, **about):
            open_store(place)


@posix
def test_a_file_of_two_names_is_refused_before_anything_is_lost(tmp_path):
    first, second = tmp_path / "lab.db", tmp_path / "other.db"
    with study(f"sqlite:///{first}") as made:
        made.ask()
    second.hardlink_to(first)
    for path in (first, second):
        with refused("hard-link", cg.StoreError, path=str(path), names=2):
            cg.Study.open(f"sqlite:///{path}")
    second.unlink()
    with cg.Study.open(f"sqlite:///{first}") as made:
        assert len(made.pending) == 1
