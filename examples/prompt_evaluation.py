"""Which prompt answers most questions correctly? Each result is right or wrong; four workers
evaluate at the same time.

A worker asks for one round at a time until there is none left: ask(1) is then an empty list.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import combgame as cg

PROMPTS = {
    "terse": 0.55,
    "step by step": 0.85,
    "role play": 0.60,
    "few shots": 0.65,
    "ask back": 0.40,
}  # how often each is right


def evaluate(prompt: str, dice: random.Random) -> bool:
    """Ask the model and check its answer: here, a coin."""
    time.sleep(0.001)
    return dice.random() < PROMPTS[prompt]


def main() -> None:
    problem = cg.Problem(cg.Arms(len(PROMPTS)), rewards=cg.Bernoulli(), names=list(PROMPTS))
    study = cg.Study(
        problem,
        delta=0.05,
        max_rounds=5000,
        on_certify=lambda decision: print("certified:", decision.names[0]),
    )

    def work(name: str) -> int:
        dice, done = random.Random(name), 0
        while rounds := study.ask(1, client=name):
            for one in rounds:
                study.tell(one, {prompt: evaluate(prompt, dice) for prompt in one.names})
                done += 1
        return done

    with ThreadPoolExecutor(4) as pool:
        shares = list(pool.map(work, [f"worker {k}" for k in range(4)]))
    print(study.decision)
    print(f"{sum(shares)} evaluations by {threading.active_count() - 1 or 4} workers: {shares}")
    for row in study.rows("arm"):
        print(f"  {row['arm']:<14} {row['n']:>4} results, {row['mean']:.0%} right")
    assert study.decision.names == ("step by step",)


if __name__ == "__main__":
    main()
