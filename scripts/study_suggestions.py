"""Fits the model of `study suggest` on the developing part of the labels, and measures it.

    python scripts/study_suggestions.py MINED.db [--write] [--unseen] [--plot FILE]

MINED.db is a study mined from the repositories of `benchmarks/study_labels.tsv`; what is not in it is left out, and
counted. Prints as Markdown what `docs/study-suggestions.md` holds: rules and model by cross-validation over
repositories, by label, confusion, calibration. `--write` writes the coefficients; `--unseen` scores the unseen parts
with the rules and the shipped model; `--plot` draws how often suggestions are right by their confidence.
"""

from __future__ import annotations

import argparse
import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import cohens_kappa, to_table
from statsmodels.stats.proportion import proportion_confint

from hybridize.study import suggest_model
from hybridize.study.suggest import Prepared, prepare
from hybridize.study.suggest_groups import KINDS

ROOT = Path(__file__).parent.parent
LABELS = ROOT / "benchmarks" / "study_labels.tsv"
MODEL = ROOT / "src" / "hybridize" / "study" / "data" / "suggest_model.json"
FOLDS, STRENGTH = 10, 1.0
READ = ("unseen_strata", "unseen_strata_2")
"""Parts that were unseen until they were scored, and read then."""
UNSEEN = {"unseen": "Unseen third", "unseen_strata_3": "Unseen strata", "unseen_4": "Fourth unseen part"}


@dataclass
class Case:
    """A labelled changeset with what the rules and features say of it."""

    repository: str
    label: str
    second: str
    rule: str
    rules: list[str]
    features: dict[str, float]


def main() -> None:
    """Measure, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    connection = sqlite3.connect(args.database)
    connection.row_factory = sqlite3.Row
    with LABELS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    agreement(rows)
    develop = cases(connection, [row for row in rows if row["part"].startswith("develop") or row["part"] in READ])
    guesses = cross_validated(develop)
    bins = {"developing parts": report("Developing parts, cross-validated over repositories", develop, guesses)}
    if args.write:
        write(develop, guesses)
    model = suggest_model.shipped()
    for part_name, title in UNSEEN.items() if args.unseen else ():
        unseen = cases(connection, [row for row in rows if row["part"] == part_name])
        bins[title.lower()] = report(title, unseen, [model.confidences(case.features) for case in unseen])
    if args.plot:
        plot(bins, args.plot)


def agreement(rows: Sequence[dict[str, str]]) -> None:
    """Cohen's kappa of the two passes where both are there."""
    both = [(row["pass_1"], row["pass_2"]) for row in rows if row["pass_1"] and row["pass_2"]]
    if not both:
        print("There is one pass only: no kappa.\n")
        return
    numbers = {label: n for n, label in enumerate(sorted({label for pair in both for label in pair}))}
    kappa = cohens_kappa(to_table(np.array([[numbers[label] for label in pair] for pair in both]))[0])
    same = sum(one == two for one, two in both)
    low, high = kappa.kappa_low, min(kappa.kappa_upp, 1.0)
    print(
        f"Two passes over {len(both)}: the same label {same} times, kappa {kappa.kappa:.2f} ({low:.2f} to {high:.2f})\n"
    )


def cases(connection: sqlite3.Connection, rows: Sequence[dict[str, str]]) -> list[Case]:
    """What the rules say of each labelled changeset that was mined."""
    found = []
    for row in rows:
        item = f"commit:{row['commit']}"
        prepared: Prepared | None = prepare(connection, item)
        if prepared is None:
            continue
        rule = prepared.groups.primary(prepared.message)
        features = prepared.groups.features(prepared.message, bool(prepared.upgrades))
        found.append(Case(row["repository"], row["label"], row["second"], rule, list(prepared.found), features))
    if len(found) < len(rows):
        print(f"Left out, because their repositories were not mined: {len(rows) - len(found)} of {len(rows)}\n")
    return found


def fitted(train: Sequence[Case]) -> tuple[DictVectorizer, LogisticRegression]:
    """The model on these cases."""
    vectorizer = DictVectorizer(sparse=False)
    values = vectorizer.fit_transform([case.features for case in train])
    model = LogisticRegression(C=STRENGTH, max_iter=2000)
    return vectorizer, model.fit(values, [case.label for case in train])


def cross_validated(all_: Sequence[Case]) -> list[dict[str, float]]:
    """For each case, the confidences of a model that saw no case of its repository."""
    groups = [case.repository for case in all_]
    found: list[dict[str, float]] = [{} for _ in all_]
    for train, test in GroupKFold(FOLDS).split(all_, groups=groups):
        vectorizer, model = fitted([all_[n] for n in train])
        for n in test:
            (row,) = model.predict_proba(vectorizer.transform([all_[n].features]))
            found[n] = dict(zip(model.classes_, row, strict=True))
    return found


def ranked(case: Case, guess: dict[str, float]) -> list[str]:
    """The model's order among the kinds for which there is evidence."""
    return sorted(case.rules, key=lambda kind: -guess.get(kind, 0.0))


def report(title: str, all_: Sequence[Case], guesses: Sequence[dict[str, float]]) -> list[tuple[float, int, int]]:
    """Right main, right main or second, McNemar, confusion, calibration: mean confidence, right ones, all, by bin."""
    labels = [case.label for case in all_]
    majority = Counter(labels).most_common(1)[0][0]
    rules = [[c.rule, *(k for k in ranked(c, g) if k != c.rule)] for c, g in zip(all_, guesses, strict=True)]
    model = [ranked(c, g) for c, g in zip(all_, guesses, strict=True)]
    size = len(all_)
    print(f"### {title}: {size} changesets of {len({case.repository for case in all_})} repositories\n")
    print("| suggestion | main right | main or second right |\n|---|---|---|")
    said = [n for n, label in enumerate(labels) if label != "other"]
    for name, answers in (("always the most frequent label", [[majority]] * size), ("rules", rules), ("model", model)):
        main_, either = (sum(label in a[:n] for label, a in zip(labels, answers, strict=True)) for n in (1, 2))
        print(f"| {name} | {part(main_, size)} | {part(either, size)} |")
    named = sum(rules[n][0] == labels[n] for n in said)
    print(f"\nOf those with a label that is not `other` the rules name {part(named, len(said))}.")
    hits = [np.array([a[0] == label for a, label in zip(answers, labels, strict=True)]) for answers in (rules, model)]
    table = [[int(np.sum((hits[0] == x) & (hits[1] == y))) for y in (True, False)] for x in (True, False)]
    print(f"\nModel against rules (McNemar, exact): p = {mcnemar(table, exact=True).pvalue:.3f}\n")
    print("| label | named by the rules | named first or second |\n|---|---|---|")
    for label, size in Counter(labels).most_common():
        mine = [rules[n] for n in range(len(labels)) if labels[n] == label]
        first, either = (part(sum(label in a[:n] for a in mine), size) for n in (1, 2))
        print(f"| {label} | {first} | {either} |")
    print("\n| label | suggested | times |\n|---|---|---|")
    for (label, answer), times in Counter((label, a[0]) for label, a in zip(labels, rules, strict=True)).most_common():
        print(f"| {label} | {answer} | {times} |")
    print("\n| confidence | changesets | mean confidence | right |\n|---|---|---|---|")
    calibrated = suggest_model.shipped().calibrated
    sure = np.array([calibrated(g.get(a[0], 0.0)) for g, a in zip(guesses, rules, strict=True)])
    bins = []
    for low, high in ((0, 0.75), (0.75, 0.85), (0.85, 0.95), (0.95, 1.01)):
        chosen = (sure >= low) & (sure < high)
        if chosen.any():
            right = int(hits[0][chosen].sum())
            bins.append((float(sure[chosen].mean()), right, int(chosen.sum())))
            print(
                f"| {low} to {min(high, 1)} | {chosen.sum()} | {sure[chosen].mean():.2f} | {right / chosen.sum():.2f} |"
            )
    print()
    return bins


def plot(parts: dict[str, list[tuple[float, int, int]]], file: Path) -> None:
    """How often suggestions are right by their confidence, with 95% intervals (Wilson)."""
    from matplotlib import pyplot, rc_context

    with rc_context({"svg.hashsalt": "hybridize"}):
        figure, axes = pyplot.subplots(figsize=(4.5, 4.5))
        axes.plot([0.5, 1], [0.5, 1], color="0.7", linewidth=1)
        for (name, bins), mark in zip(parts.items(), "os^D", strict=True):
            shares = [right / size for _, right, size in bins]
            ends = [proportion_confint(right, size, method="wilson") for _, right, size in bins]
            errors = [
                [s - e[0] for s, e in zip(shares, ends, strict=True)],
                [e[1] - s for s, e in zip(shares, ends, strict=True)],
            ]
            axes.errorbar([mean for mean, _, _ in bins], shares, yerr=errors, fmt=mark, capsize=3, label=name)
        axes.set(
            xlabel="confidence of the main suggestion", ylabel="share that is right", xlim=(0.5, 1), ylim=(0.4, 1.02)
        )
        axes.legend(loc="upper left")
        figure.tight_layout()
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def part(count: int, size: int) -> str:
    """A share with its 95% interval (Wilson)."""
    low, high = proportion_confint(count, size, method="wilson")
    return f"{count} of {size} = {100 * count / size:.1f}% ({100 * low:.0f} to {100 * high:.0f})"


def write(train: Sequence[Case], guesses: Sequence[dict[str, float]]) -> None:
    """The coefficients as data, fitted on the whole developing part."""
    vectorizer, model = fitted(train)
    data = {
        "kinds": [kind for kind in KINDS if kind in model.classes_],
        "features": list(vectorizer.feature_names_),
        "weights": [],
        "intercepts": [],
    }
    order = list(model.classes_)
    for kind in data["kinds"]:
        data["weights"].append([round(float(value), 4) for value in model.coef_[order.index(kind)]])
        data["intercepts"].append(round(float(model.intercept_[order.index(kind)]), 4))
    sure = LogisticRegression(C=1e6).fit(
        [[guess.get(case.rule, 0.0)] for case, guess in zip(train, guesses, strict=True)],
        [case.rule == case.label for case in train],
    )
    data["calibration"] = [round(float(sure.coef_[0][0]), 4), round(float(sure.intercept_[0]), 4)]
    MODEL.write_text(json.dumps(data, indent=None, separators=(",", ":")).replace("],[", "],\n[") + "\n", "utf-8")


if __name__ == "__main__":
    main()
