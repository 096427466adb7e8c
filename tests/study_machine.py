"""Any order of anything that can be done to a study, beside a naive model of it."""

import math

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import combgame as cg
from tests import naive
from tests.said import refused
from tests.studies import HARD, state_of


class NaiveRound:
    def __init__(self, arms, state="open", owner=None):
        self.arms, self.state, self.owner, self.said, self.again = arms, state, owner, {}, set()


class Naive:
    """What a study is, without a thought for speed: all that was told, in a list."""

    def __init__(self):
        self.rounds, self.told = {}, []  # number -> NaiveRound; (number, arm, values)

    def mean(self, arm):
        return [x for _, a, xs in self.told if a == arm for x in xs]

    def values(self, number):
        return {a: xs for n, a, xs in self.told if n == number}


BUDGET = 9


class Machine(RuleBasedStateMachine):
    """ask, tell, fail, retract, observe and reopen in any order."""

    def make(self):
        return cg.Study(HARD, seed=1, max_rounds=BUDGET)

    def reopen_study(self):
        return self.study

    @initialize()
    def begin(self):
        self.study, self.naive, self.budget = self.make(), Naive(), BUDGET

    def those(self, *states):
        return [n for n, one in self.naive.rounds.items() if one.state in states]

    def pick(self, data, *states):
        found = self.those(*states)
        return data.draw(st.sampled_from(found)) if found else None

    @rule(n=st.integers(1, 4), client=st.sampled_from([None, "me", "you"]))
    def ask(self, n, client):
        mine = [k for k in self.those("open") if client and self.naive.rounds[k].owner == client][
            :n
        ]
        free = max(self.budget - len(self.those("open", "told")), 0)
        again = self.those("waiting")[: min(free, n - len(mine))]
        got = self.study.ask(n, client=client)
        if self.study.done:
            assert got == []
            return
        assert [one.id for one in got[: len(mine + again)]] == mine + again
        assert len(got) == min(n, len(mine) + free)
        for one in got:
            if one.id in self.naive.rounds:
                assert list(one.arms) == self.naive.rounds[one.id].arms
            else:
                assert one.id > max(self.naive.rounds, default=0) and HARD.actions.contains(
                    one.arms
                )
                self.naive.rounds[one.id] = NaiveRound(list(one.arms))
            self.naive.rounds[one.id].state, self.naive.rounds[one.id].owner = "open", client

    @rule(data=st.data(), final=st.booleans())
    def tell(self, data, final):
        number = self.pick(data, "open", "waiting")
        if number is None:
            return
        one, known = self.naive.rounds[number], self.naive.values(number)
        arms = one.arms
        chosen = data.draw(st.lists(st.sampled_from(arms), unique=True))
        values = {
            a: data.draw(st.sampled_from([None, 0.1, -1.5, [1.0, 2.5], (0.25, 3)]))
            for a in chosen
            if a not in known
        }
        self.study.tell(number, values, final=final)
        for a, x in values.items():
            one.said[a] = x
            xs = (
                []
                if x is None
                else x
                if isinstance(x, list)
                else [x[0]] * x[1]
                if isinstance(x, tuple)
                else [x]
            )
            self.naive.told.append((number, a, xs))
        if final:
            self.naive.told += [(number, a, []) for a in arms if a not in self.naive.values(number)]
        if len(self.naive.values(number)) == len(arms):
            one.state = "told"

    @rule(data=st.data())
    def tell_again(self, data):
        number = self.pick(data, "told")
        if number is None:
            return
        events = len(self.study.events())
        self.study.tell(number, self.naive.rounds[number].said)
        for a in set(self.naive.rounds[number].arms) - self.naive.rounds[number].again:
            with refused("told-otherwise", cg.StudyError):
                self.study.tell(number, {a: 77.0})
        assert len(self.study.events()) == events

    @rule(data=st.data(), final=st.booleans())
    def tell_anew(self, data, final):
        """An arm that was retracted after its round had ended."""
        found = [n for n in self.those("told") if self.naive.rounds[n].again]
        if found:
            number = data.draw(st.sampled_from(found))
            one = self.naive.rounds[number]
            arm, x = (
                data.draw(st.sampled_from(sorted(one.again))),
                data.draw(st.sampled_from([0.1, 0.75, None])),
            )
            assert self.study.tell_many({number: {**one.said, arm: x}}, final) == {number: {arm: x}}
            one.said[arm] = x
            one.again.remove(arm)
            self.naive.told.append((number, arm, [] if x is None else [x]))

    @rule(data=st.data(), retry=st.booleans())
    def fail(self, data, retry):
        number = self.pick(data, "open", "waiting")
        if number is None:
            return
        self.study.fail(number, "spilt", retry=retry)
        one = self.naive.rounds[number]
        if retry:
            one.state = "waiting"
        elif self.naive.values(number):
            one.state = "told"
            self.naive.told += [
                (number, a, []) for a in one.arms if a not in self.naive.values(number)
            ]
        else:
            one.state = "gone"

    @rule(data=st.data())
    def retract_round(self, data):
        found = sorted({n for n, _, _ in self.naive.told})
        if not found:
            return
        number = data.draw(st.sampled_from(found))
        self.study.retract(number, "wrong")
        self.naive.told = [one for one in self.naive.told if one[0] != number]
        self.naive.rounds[number].said, self.naive.rounds[number].again = {}, set()
        if self.naive.rounds[number].state == "told":
            self.naive.rounds[number].state = "open"

    @rule(arm=st.integers(0, 5))
    def retract_arm(self, arm):
        if not self.naive.mean(arm):
            return
        self.study.retract(arm=arm, reason="contaminated")
        for n in self.those("open", "waiting"):
            self.naive.told = [one for one in self.naive.told if one[:2] != (n, arm)]
            self.naive.rounds[n].said.pop(arm, None)
        for n in self.those("told"):
            if self.naive.rounds[n].said.get(arm) is not None:
                self.naive.rounds[n].again.add(arm)
                del self.naive.rounds[n].said[arm]
        self.naive.told = [(n, a, [] if a == arm else xs) for n, a, xs in self.naive.told]

    @rule(arm=st.integers(0, 5), x=st.sampled_from([0.5, [1.0, 1.0]]))
    def observe(self, arm, x):
        number = self.study.observe({arm: x})
        assert number > max(self.naive.rounds, default=0)
        self.naive.rounds[number] = NaiveRound([], "observed")
        self.naive.told.append((number, arm, x if isinstance(x, list) else [x]))

    @rule(more=st.integers(-1, 2))
    def extend(self, more):
        events = len(self.study.events())
        if more <= 0 or self.study.state == "certified":
            with refused("ended" if self.study.state == "certified" else "not-more"):
                self.study.extend(self.budget + more, reason="a grant")
            assert len(self.study.events()) == events
            return
        self.study.extend(self.budget + more, reason="a grant")
        self.budget += more

    @rule()
    def reopen(self):
        self.study = self.reopen_study()

    @invariant()
    def everything_told_is_there(self):
        if not hasattr(self, "study"):
            return
        history = state_of(self.study).history
        for arm in range(6):
            xs = self.naive.mean(arm)
            assert history.stats.counts[arm] == len(xs) and history.stats.sums[
                arm
            ] == pytest.approx(sum(xs), abs=1e-9)
            for k, end in enumerate((min(xs, default=math.inf), max(xs, default=-math.inf))):
                assert history.extremes[k, 0, arm] == end
                assert not xs or (int(history.extremes[k, 2, arm]), arm) in {
                    (n, a) for n, a, told in self.naive.told if end in told
                }
        assert list(history.open) == sorted(self.those("open", "waiting"))
        assert history.waiting == len(self.those("waiting"))
        assert sorted(n for n, one in history.open.items() if one.waiting) == sorted(
            self.those("waiting")
        )
        open_rounds = {n: self.naive.rounds[n].arms for n in self.those("open")}
        pending = [
            sum(a in arms and a not in self.naive.values(n) for n, arms in open_rounds.items())
            for a in range(6)
        ]
        assert history.pending.tolist() == pending

    @precondition(lambda self: hasattr(self, "study"))
    @rule()
    def replaying_changes_nothing(self):
        assert self.study.replay().same
        assert state_of(self.study).history.n_changes == naive.changes(self.study.events())

    def teardown(self):
        if hasattr(self, "study"):
            self.study.close()
