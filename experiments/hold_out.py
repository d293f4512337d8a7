"""Chooses settings by training rows that are held out."""

import dataclasses

HELD_OUT = 0.2


def hold_out(split, share=HELD_OUT):
    """The last share of the training rows, which are in random order, becomes the rows to test on."""
    end = round((1 - share) * len(split.train_labels))
    return dataclasses.replace(
        split, train=split.train[:end], train_labels=split.train_labels[:end],
        test=split.train[end:], test_labels=split.train_labels[end:],
    )  # fmt: skip


def best(candidates, measure):
    """The settings with the highest ``accuracy``, the first of equals; None when one of them was not measured."""
    records = [measure(candidate) for candidate in candidates]
    if any(record is None for record in records):
        return None
    accuracies = [record["accuracy"] for record in records]
    return candidates[accuracies.index(max(accuracies))]
