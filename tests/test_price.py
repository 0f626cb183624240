"""Prices, tokens and the budget."""

import asyncio

import pytest

from poolkit.dialect import OPENAI
from poolkit.price import BatchTerms, Budget, Price, Stop, batch_terms, price_fault, price_of, token_counts


def test_prices_are_known_by_model_and_address():
    assert price_of("gpt-4.1-2025-04-14", OPENAI) == Price(2.0, 0.5, 8.0)
    assert price_of("claude-sonnet-4-6", "https://api.anthropic.com/v1/").input == 3.0
    assert price_of("claude-sonnet-4-5", "https://api.anthropic.com/v1/") == Price(
        3.0, 0.3, 15.0
    )  # of short prompts
    assert price_of("nobody-knows", OPENAI) is None
    assert price_of("gpt-4.1-2025-04-14", "http://127.0.0.1:8000/v1") is None  # not OpenAI's price there
    assert price_of("any", "http://x/v1", {"input": 1, "output": 4}) == Price(1.0, 1.0, 4.0)


def test_cost_of_a_call():
    # 400 fresh at $2, 600 cached at $0.50, 100 out at $8 a million
    assert Price(2, 0.5, 8).usd(1000, 600, 100) == pytest.approx((400 * 2 + 600 * 0.5 + 100 * 8) / 1e6)


def test_tokens_are_counted_offline():
    assert token_counts(["hello world", ""]) == [2, 0]


def test_the_budget_is_never_passed_and_used_to_the_last_call():
    """A hundred calls at once that may cost 3 and cost 1: a budget of 20 pays for 18, as 2 more might not fit."""

    async def main():
        budget, paid, most = Budget(20.0), 0, 0.0

        async def call():
            nonlocal paid, most
            await budget.hold(3.0)
            most = max(most, budget.spent + budget.held)
            await asyncio.sleep(0.001)
            budget.settle(3.0, 1.0)
            paid += 1

        results = await asyncio.gather(*(call() for _ in range(100)), return_exceptions=True)
        stops = [r for r in results if isinstance(r, Stop)]
        return paid, most, len(stops), str(stops[0])

    paid, most, stops, text = asyncio.run(main())
    assert (paid, stops) == (18, 82)
    assert most <= 20
    assert text == "the budget of 20 USD is used up: 18.0000 spent, and the next call may cost 3.0000"


def test_rounding_keeps_nobody_waiting_for_money_that_nobody_holds():
    async def main():
        budget = Budget(1e6)
        for usd in (123456.7, 0.1, 77777.7):
            await budget.hold(usd)
        for usd in (123456.7, 0.1, 77777.7):
            budget.settle(usd, 0.3)
        await asyncio.wait_for(budget.hold(1e6), 5)

    with pytest.raises(Stop, match=r"used up: 0\.9000 spent"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({"input": 1, "cached": 0, "output": 2.5}, ""),
        ({"input": 1}, "price gives input, output and maybe cached, in USD per million tokens; found input"),
        ({"input": float("nan"), "output": 1}, "input is 'nan'"),
        ({"input": True, "output": 1}, "input is 'True'"),
    ],
)
def test_faults_of_a_price(table, fault):
    assert price_fault(table).endswith(fault)
    assert bool(price_fault(table)) == bool(fault)


def test_batch_terms():
    assert batch_terms("https://api.openai.com/v1", {}).price_factor == 0.5
    assert batch_terms("https://x.openai.azure.com/openai/v1/", {}).price_factor == 0.5
    assert batch_terms("https://api.openai.com.evil.org/v1", {}).price_factor == 1.0
    assert batch_terms("http://127.0.0.1:1/v1", {"requests": 10}) == BatchTerms(10, 200.0, 1e12, 1.0)


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({"request": 5}, "found 'request'"),
        ({"requests": 1.5}, "requests is '1.5'"),
        ({"requests": 0}, "requests is '0'"),
        ({"price_factor": True}, "price_factor is 'True'"),
        ({"queued_tokens": float("nan")}, "queued_tokens is 'nan'"),
    ],
)
def test_faults_of_batch_terms(table, fault):
    with pytest.raises(ValueError, match=fault):
        batch_terms("http://127.0.0.1:1/v1", table)


def test_a_share_of_a_price():
    assert Price(2, 0.5, 8).times(0.5) == Price(1, 0.25, 4)
