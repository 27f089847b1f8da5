"""Properties of the multi-query associative recall generator."""
# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest

LENGTH, PAIRS, VOCABULARY = 64, 8, 256
SHOWN = 2 * PAIRS


def draw(driver, count, seed=1, length=LENGTH, pairs=PAIRS, vocabulary=VOCABULARY, power=0.1):
    lines = driver.call("recall", count, seed, length, pairs, vocabulary, power).stdout
    rows = [json.loads(line) for line in lines.splitlines()]
    return np.array([r["tokens"] for r in rows]), np.array([r["queries"] for r in rows])


@pytest.fixture
def drawn(driver):
    return draw(driver, 4000)


def test_keys_do_not_repeat_and_stay_in_the_lower_half(drawn):
    keys = drawn[0][:, 0:SHOWN:2]
    assert all(len(set(row)) == PAIRS for row in keys)
    assert set(keys.flatten()) == set(range(1, VOCABULARY // 2))


def test_values_fill_the_upper_half(drawn):
    assert set(drawn[0][:, 1:SHOWN:2].flatten()) == set(range(VOCABULARY // 2, VOCABULARY))


def test_every_key_stands_once_more_at_an_even_offset_with_its_value(drawn):
    tokens, queries = drawn
    rows = np.arange(len(tokens))[:, None]
    assert (queries >= SHOWN).all() and (queries % 2 == 0).all()
    assert all(len(set(row)) == PAIRS for row in queries)
    assert (tokens[rows, queries] == tokens[:, 0:SHOWN:2]).all()
    assert (tokens[rows, queries + 1] == tokens[:, 1:SHOWN:2]).all()


def test_the_rest_is_the_filler(drawn):
    tokens, queries = drawn
    rest = np.ones_like(tokens, bool)
    rest[:, :SHOWN] = False
    np.put_along_axis(rest, queries, False, 1)
    np.put_along_axis(rest, queries + 1, False, 1)
    assert (tokens[rest] == 0).all() and rest.sum(1).max() == LENGTH - 2 * SHOWN


def test_the_first_key_takes_its_slot_by_the_power_law(drawn):
    slots = (drawn[1][:, 0] - SHOWN) // 2
    index = np.arange(1, (LENGTH - SHOWN) // 2 + 1)
    expected = index ** (0.1 - 1.0)
    expected /= expected.sum()
    counts = np.bincount(slots, minlength=len(index)) / len(slots)
    sigma = np.sqrt(expected * (1 - expected) / len(slots))
    assert (np.abs(counts - expected) < 5 * sigma).all()


def test_later_keys_are_drawn_from_the_slots_that_are_left(drawn):
    # Given the first slot, the second follows the same weights without it.
    slots = (drawn[1] - SHOWN) // 2
    second = slots[slots[:, 0] == 0, 1]
    weights = np.arange(1, (LENGTH - SHOWN) // 2 + 1) ** (0.1 - 1.0)
    weights[0] = 0
    expected = weights / weights.sum()
    counts = np.bincount(second, minlength=len(weights)) / len(second)
    sigma = np.sqrt(expected * (1 - expected) / len(second))
    assert (np.abs(counts - expected) <= 5 * sigma).all()


def test_the_same_seed_gives_the_same_sequences_and_another_one_others(driver):
    first, again, other = (draw(driver, 20, seed)[0] for seed in (7, 7, 8))
    assert (first == again).all() and (first != other).any()


def test_a_full_sequence_uses_every_slot(driver):
    tokens, queries = draw(driver, 50, length=16, pairs=4, vocabulary=10)
    assert (np.sort(queries, 1) == [8, 10, 12, 14]).all() and (tokens != 0).all()
