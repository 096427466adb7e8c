"""The command line of studies."""

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

import combgame as cg
from combgame._messages import CallHint, OptionHint, PhraseHint
from combgame.cli import app as cli
from combgame.cli._common import COMMANDS, OPTIONS, SHELL
from tests.said import refused
from tests.studies import command, fill

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for


def test_more_rounds_and_more_time_on_the_command_line(lab):
    rng = np.random.default_rng(0)
    assert (
        lab(
            "create", "screen.toml", "--delta", 1e-9, "--max-rounds", 2, "--deadline", "2999-01-01"
        )[0]
        == 0
    )
    assert lab("ask", "-n", 9, "--out", "todo.csv")[0] == 0
    fill("todo.csv", rng)
    assert lab("tell", "todo.csv")[0] == 0
    code, told = lab("status")
    assert code == 4
    assert "`combgame study extend --max-rounds ... --reason ...` gives it more rounds" in told
    with refused("not-more", cg.StudyError, before=2) as caught:
        command("extend", "--max-rounds", "1", "--reason", "less")
    assert caught.value.sentence.remedy(SHELL) == "give more, or `combgame study stop` it"
    assert lab("extend", "--max-rounds", "many", "--reason", "more")[0] == 2
    code, told = lab(
        "extend", "--max-rounds", "4", "--deadline", "none", "--reason", "a grant", "--json"
    )
    assert code == 0 and json.loads(told)["state"] == "running"
    code, told = lab("ask", "-n", 9, "--json")
    assert code == 0 and len(json.loads(told)) == 2
    assert lab("extend", "--max-rounds", "none", "--reason", "a grant")[0] == 0
    assert len(json.loads(lab("ask", "-n", 9, "--json")[1])) == 9
    assert "max_rounds was reached" not in lab("status")[1] and lab("replay")[0] == 0


def test_the_decision_has_a_command_of_its_own(lab):
    rng = np.random.default_rng(0)
    lab("create", "screen.toml", "--delta", 1e-9, "--max-rounds", 3)
    code, told = lab("decision")
    assert code == 0 and told.startswith("There is no decision yet: ")
    assert "Ask for the next round" in told
    data = json.loads(lab("decision", "--json")[1])
    assert data["state"] == "running" and data["decision"] is None
    assert data["next_step"]["code"] == "ask"
    lab("ask", "-n", 3, "--out", "todo.csv")
    fill("todo.csv", rng)
    lab("tell", "todo.csv")
    code, told = lab("decision")
    assert code == 4 and told.startswith("Not certified: --max-rounds was reached after 3 rounds")
    assert "study screen" not in told and "  leading" not in told
    data = json.loads(lab("decision", "--json")[1])
    assert data["decision"]["headline"]["code"] == "not-certified"


def test_a_value_that_is_hard_to_believe_is_said_when_it_is_told(lab):
    rng = np.random.default_rng(0)
    lab("create", "screen.toml", "--delta", 1e-9)
    lab("ask", "-n", 8, "--out", "todo.csv")
    fill("todo.csv", rng)
    assert "standard errors" not in lab("tell", "todo.csv")[1]
    lab("ask", "--out", "todo.csv")
    Path("todo.csv").write_text(
        "\n".join(
            line + "1000" * (k == 1) + "0.3" * (k == 2)
            for k, line in enumerate(Path("todo.csv").read_text().splitlines())
        )
        + "\n"
    )
    code, told = lab("tell", "todo.csv")
    assert code == 0 and "1 round, 2 values stored" in told and "1000 is" in told
    assert "`combgame study retract 9 --reason ...`, and tell it anew" in told


def test_everybody_sees_the_doubts_and_a_certificate_that_rests_on_them(lab):
    lab("create", "screen.toml", "--min-replicates", 0)
    Path("old.csv").write_text(
        "arm,value\nann,0.5\nann,0.52\nbob,0.4\nbob,0.41\ncid,0.4\ndee,0.4\n"
    )
    assert "hard to believe" not in lab("observe", "old.csv")[1]
    Path("ben.csv").write_text("arm,value\nann,1000\n")
    code, told = lab("observe", "ben.csv", "--client", "ben")
    assert code == 0 and "1000 is" in told and "ertified, but" not in told
    lab("ask", "--out", "todo.csv")
    Path("anna.csv").write_text("arm,value\neve,0.1\n")
    code, told = lab("observe", "anna.csv", "--client", "anna")
    assert "certified, but 1 value is hard to believe: look there first" in told
    assert "1000 is" in told
    Path("todo.csv").write_text(
        "".join(
            line + "0.4" * (k > 0) + "\n"
            for k, line in enumerate(Path("todo.csv").read_text().splitlines())
        )
    )
    code, told = lab("tell", "todo.csv")
    assert code == 0
    assert "certified, but 1 value is hard to believe: look there first" in told
    assert "1000 is" in told
    assert json.loads(lab("tell", "todo.csv", "--json")[1])["outliers"][0]["value"] == 1000.0
    code, told = lab("ask")
    assert code == 3 and "certified, but 1 value is hard to believe" in told and "1000 is" in told


def test_a_typo_in_the_first_value_of_an_arm_is_named_when_it_certifies(lab):
    lab("create", "screen.toml", "--min-replicates", 0)
    lab("ask", "-n", 3, "--out", "todo.csv")
    head, *lines = Path("todo.csv").read_text().splitlines()
    filled = [line + ("1000" if ",bob," in line else "0.4") for line in lines]
    Path("todo.csv").write_text("\n".join([head, *filled]) + "\n")
    code, told = lab("tell", "todo.csv")
    assert code == 0 and "The answer rests on a single value of bob, 1000 in round" in told
    assert "--min-replicates 2 asks for two values of every arm" in told
    assert "min_replicates" not in told + lab("status")[1]
    assert "rests on a single value of bob" in lab("ask")[1]


def test_a_head_that_was_noted_is_checked_on_the_command_line(lab):
    lab("create", "screen.toml")
    lab("ask", "-n", 3)
    head = json.loads(lab("status", "--json")[1])["audit_hash"]
    assert f"last event   {head}\n" in lab("status")[1] and head.startswith("4:")
    code, text = lab("replay", "--head", head)
    assert code == 0
    assert text.endswith(f"Event {head} is there.\n")
    assert json.loads(lab("replay", "--json")[1])["head"] == head
    code, text = lab("stop", "-r", "enough")
    assert (
        "note it; `combgame study replay --head ...` says whether the record still has it" in text
    )
    with refused("must-be", cg.InputError, name="head", value="nonsense"):
        command("replay", "--head", "nonsense")
    with refused("events-missing", cg.StoreError, events=5, number=9):
        command("replay", "--head", "9:" + "0" * 16)


def test_a_file_is_copied_on_the_command_line(lab):
    lab("create", "screen.toml")
    assert lab("copy", "lab.db", "copy.db") == (0, "wrote copy.db.\n")
    assert lab("status", "--storage", "sqlite:///copy.db")[0] == 0
    assert json.loads(lab("copy", "sqlite:///lab.db", "sqlite:///second.db", "--json")[1]) == {
        "out": "second.db"
    }
    with refused("already-there", cg.StoreError, path="copy.db"):
        command("copy", "lab.db", "copy.db")
    with refused("no-study-file", cg.UnknownNameError, file="lba.db"):
        command("copy", "lba.db", "third.db")
    Path("text.db").write_text("dear diary, " * 1000)
    assert lab("copy", "text.db", "third.db")[0] == 2
    assert not list(Path().glob("lba.db*")) and not list(Path().glob("*third*"))


def test_the_values_of_an_arm_that_was_retracted_are_told_anew(lab):
    lab("create", "screen.toml", "--delta", 1e-9)
    lab("ask", "--out", "todo.csv")
    Path("todo.csv").write_text("round,arm,value\n1,ann,1000\n1,bob,0.4\n")
    lab("tell", "todo.csv")
    code, text = lab("retract", "--arm", "ann", "-r", "a point was lost")
    assert code == 0 and "anew in their rounds (`combgame study tell`)" in text
    Path("todo.csv").write_text("round,arm,value\n1,ann,1.000\n1,bob,0.4\n")
    assert "1 round, 1 value stored." in lab("tell", "todo.csv")[1]
    assert "0 rounds, 0 values stored; 1 round was there already." in lab("tell", "todo.csv")[1]
    assert [row["mean"] for row in csv.DictReader(io.StringIO(lab("export")[1]))] == ["1.0", "0.4"]
    Path("todo.csv").write_text("round,arm,value\n1,ann,1.5\n1,bob,0.4\n")
    assert lab("tell", "todo.csv")[0] == 2 and lab("replay")[0] == 0


def test_a_whole_experiment_on_the_command_line(lab):
    rng = np.random.default_rng(0)
    assert lab("create", "screen.toml", "--delta", 0.05)[0] == 0
    codes = []
    while (code := lab("ask", "-n", 4, "--out", "todo.csv")[0]) == 0:
        codes.append(code)
        fill("todo.csv", rng, lost={("1", "ann")})
        assert lab("tell", "todo.csv")[0] == 0
        assert lab("tell", "todo.csv")[0] == 0  # the same again is harmless
    assert code == 3 and codes
    code, told = lab("status", "--json")
    told = json.loads(told)
    assert code == 3 and told["decision"]["names"] == ["ann"] and told["decision"]["certified"]
    missing = {"code": "values-missing", "arguments": {"n": 1}}
    assert any(missing.items() <= one.items() for one in told["decision"]["assumptions"])
    assert (
        told["next_step"]["code"] == "stop" and told["decision"]["headline"]["code"] == "certified"
    )
    assert lab("status", "--watch")[0] == 3
    code, text = lab("replay")
    assert code == 0
    assert "every round is chosen again" in text
    assert json.loads(lab("replay", "--json")[1])["same"]
    assert json.loads(lab("list", "--json")[1]) == [{"name": "study", "state": "certified"}]
    assert lab("plot", "--out", "picture")[0] == 0
    assert Path("picture.png").stat().st_size > 5000
    assert Path("picture.svg").exists()


def test_files_are_called_as_asked(lab):
    lab("create", "screen.toml")
    lab("ask", "--out", "todo.csv")
    fill("todo.csv", np.random.default_rng(0))
    lab("tell", "todo.csv")
    assert "wrote pic.v1.png and pic.v1.svg" in lab("plot", "-o", "pic.v1.png")[1]
    assert sorted(path.name for path in Path().glob("pic*")) == ["pic.v1.png", "pic.v1.svg"]
    with refused("unknown-ending", cg.InputError, path="table.xlsx"):
        command("export", "-o", "table.xlsx")
    assert not Path("table.xlsx").exists()
    assert lab("export", "-o", "table")[0] == 2
    assert lab("export", "-o", "table.csv", "--format", "pdf")[0] == 2
    assert lab("export", "-o", "table", "--format", "csv")[0] == 0
    assert Path("table").read_text().startswith("round,arm")
    assert lab("export", "-o", "all.JSON")[0] == 0
    assert json.loads(Path("all.JSON").read_text())["name"] == "study"
    assert json.loads(lab("export", "--format", "json")[1])["name"] == "study"


def test_other_commands(lab):
    lab("create", "screen.toml", "--max-rounds", 3, "--name", "study")
    lab("ask", "-n", 3, "--out", "todo.csv")
    assert lab("ask", "-n", 9)[1].count("\n") == 8
    assert lab("ask", "-n", 9, "--client", "you")[0] == 5
    Path("todo.csv").write_text(
        "round,arm,value,note\n1,ann,0.5,x\n1,ann,0.6,\n1,bob,,dry\n2,cid,,\n2,dee,,\n"
    )
    code, text = lab("tell", "todo.csv")
    assert code == 0
    assert "1 round, 2 values stored; 1 value missing; 1 round without any value stays open" in text
    assert "study 'study' asks" not in text
    assert "round 2 is asked again" in lab("fail", 2, "-r", "spilt")[1]
    assert "given up" in lab("fail", 3, "-r", "lost", "--give-up")[1]
    assert "open again" in lab("retract", 1, "-r", "misread")[1]
    assert lab("tell", "todo.csv", "--partial")[0] == 0
    Path("old.csv").write_text("arm,value\neve,0.1\neve,0.2\n")
    assert json.loads(lab("observe", "old.csv", "--json")[1])["number"] == 4
    Path("typo.csv").write_text("arm,value\neve,100\n")
    lab("observe", "typo.csv")
    assert (
        "number 5, data from outside, is taken back; observe it anew if"
        in lab("retract", 5, "-r", "mistyped")[1]
    )
    assert "taken back" in lab("retract", "--arm", "eve", "-r", "other batch")[1]
    table = list(csv.DictReader(io.StringIO(lab("export")[1])))
    states = {(row["round"], row["arm"]): row["state"] for row in table}
    assert states[("1", "ann")] == "told"
    assert states[("2", "cid")] == "failed"
    assert states[("4", "eve")] == "retracted"
    assert lab("export", "--level", "arm", "--out", "arms.csv")[0] == 0
    assert "ann,2,0.55" in Path("arms.csv").read_text()
    assert lab("export", "--out", "all.json")[0] == 0
    assert json.loads(Path("all.json").read_text())["name"] == "study"
    assert json.loads(lab("export", "--json")[1])["events"][0]["kind"] == "created"
    code, text = lab("stop", "-r", "out of plates")
    assert code == 0 and "Not certified" in text and lab("ask")[0] == 4 and lab("status")[0] == 4


def test_what_is_missing_on_the_command_line_is_said(lab, monkeypatch):
    with refused("no-study-file", cg.UnknownNameError, file="lab.db"):
        command("ask")
    assert lab("tell", "nothing.csv")[0] == 2
    monkeypatch.delenv("COMBGAME_STORAGE")
    assert lab("ask")[0] == 2


def test_looking_and_opening_make_no_file(lab):
    looks = [["status"], ["status", "--name", "study"], ["list"], ["ask"], ["export"], ["replay"]]
    for words in looks:
        with refused("no-study-file", cg.UnknownNameError, file="lba.db"):
            command(*words, "--storage", "sqlite:///lba.db")
        assert not list(Path().glob("lba.db*")), words
    for words in (*looks, ["create", "screen.toml"]):
        with refused("no-folder", cg.StoreError, folder=str(Path("nowhere").resolve())):
            command(*words, "--storage", "sqlite:///nowhere/lab.db")
        assert not Path("nowhere").exists(), words
    with refused("no-study-file", cg.UnknownNameError, name="study", file="lba.db"):
        cg.Study.open("sqlite:///lba.db")
    assert not Path("lba.db").exists()


def test_sentences_name_commands_not_python(lab):
    assert (
        "`combgame study ask --name plates`" in lab("create", "screen.toml", "--name", "plates")[1]
    )
    code, text = lab("create", "screen.toml", "--name", "plates")
    assert code == 2 and "--if-exists resume" in text and "if_exists" not in text
    lab("ask", "--out", "todo.csv")
    Path("todo.csv").write_text("round,arm,value\n1,ann,0.5\n1,bob,0.4\n")
    lab("tell", "todo.csv")
    Path("todo.csv").write_text("round,arm,value\n1,ann,0.6\n1,bob,0.4\n")
    retract = "`combgame study retract 1 --reason ... --name plates`"
    assert retract in lab("tell", "todo.csv")[1]
    assert "give a round, or --arm" in lab("retract", "-r", "why")[1]
    assert (
        "extend changes --max-rounds or --deadline; give one of them, or both."
        in lab("extend", "-r", "why")[1]
    )
    assert "has no --max-rounds, so" in lab("extend", "-r", "why", "--max-rounds", 9)[1]
    again = json.loads(lab("replay", "--json")[1])["sentence"]
    assert again["code"] == "same" and again["arguments"] == {"events": 3, "rounds": 1}
    assert (
        "it was stopped by hand (the project ended) after 1 round and"
        in lab("stop", "-r", "the project ended")[1]
    )
    assert "`combgame study decision` says" in lab("ask")[1]
    assert "below is what is known" in lab("status")[1]


def test_what_is_advised_is_spelt_by_the_shell_or_as_python_does():
    root = typer.main.get_command(cli.app)
    study, campaign = (root.commands[one].commands for one in ("study", "campaign"))
    assert set(COMMANDS.values()) <= {*root.commands, *(f"study {verb}" for verb in study)}
    commands = [*root.commands.values(), *study.values(), *campaign.values()]
    assert set(OPTIONS.values()) <= {opt for one in commands for p in one.params for opt in p.opts}
    assert CallHint("view", "n", history=True).render_inline(SHELL) == "view(n, history=True)"
    assert OptionHint("on_tie", 3).render_inline(SHELL) == "on_tie=3"
    assert PhraseHint("unheard of").render_inline(SHELL) == "unheard of"


def test_a_refusal_for_programs_has_code_and_arguments(lab, monkeypatch, capsys):
    lab("create", "screen.toml")
    monkeypatch.setattr(sys, "argv", ["combgame", "study", "retract", "1", "-r", "why", "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "unknown-round" and error["arguments"]["round"] == 1
    assert error["text"] and error["remedy"] == "none was asked yet"


def test_the_only_study_needs_no_name(lab):
    lab("create", "screen.toml", "--name", "plates")
    assert json.loads(lab("status", "--json")[1])["name"] == "plates"
    assert "`combgame study tell todo.csv --name plates`" in lab("ask", "--out", "todo.csv")[1]
    lab("create", "screen.toml", "--name", "other")
    with refused("several-studies", cg.InputError, names=["plates", "other"]):
        command("status")
    lab("create", "screen.toml")
    with refused("several-studies", cg.InputError, names=["plates", "other", "study"]):
        command("status")
    said = lab("ask", "--out", "more.csv", "--name", "study")[1]
    assert "`combgame study tell more.csv --name study`" in said


def test_a_deadline_in_the_past_is_refused(lab):
    with refused("past", cg.StudyError) as caught:
        command("create", "screen.toml", "--deadline", "2020-01-31T18:00")
    deadline = caught.value.arguments["deadline"]
    assert (
        deadline.render_inline(SHELL) == "--deadline 2020-01-31T18:00"
        and not Path("lab.db").exists()
    )
    assert lab("create", "screen.toml", "--deadline", "2999-01-31T18:00")[0] == 0


def test_status_says_who_has_what(lab):
    lab("create", "screen.toml")
    lab("ask")
    assert "Measure and tell the pending round;" in lab("status")[1]
    assert (
        "rule frank-wolfe, threshold mixture, at least 2 values of every arm\n"
        in (lab("status")[1])
    )
    assert json.loads(lab("status", "--json")[1])["settings"]["delta"] == 0.05
    lab("ask", "-n", 2)
    lab("ask", "--client", "you")
    assert "pending      3 rounds: 1 (me), 2 (me), 3 (you)\n" in lab("status")[1]
    lab("fail", 3, "-r", "spilt")
    assert "2 rounds: 1 (me), 2 (me); 1 that failed and is to be asked again" in lab("status")[1]
    lab("ask", "-n", 11)
    assert "9 (me), 10 (me), ...\n" in lab("status")[1]
    assert json.loads(lab("status", "--json")[1])["clients"] == ["me"] * 11


def test_one_round_is_overdue(lab):
    lab("create", "screen.toml")
    lab("ask", "--lease", 1e-3)
    assert (
        "Round 1 is overdue: ask again to give it to somebody else, or tell it." in lab("status")[1]
    )
    lab("ask", "-n", 2, "--lease", 1e-3)
    assert (
        "Rounds 1, 2 are overdue: ask again to give them to somebody else, or tell them."
        in lab("status")[1]
    )
