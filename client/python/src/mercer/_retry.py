"""When a call that failed is made again, and after how long."""

from __future__ import annotations

import dataclasses
import random
import time
from typing import Callable, Optional, TypeVar

from mercer.errors import MercerError

Result = TypeVar("Result")

# A full queue or disk asks for a minute: a caller would hear nothing for as long as all attempts take.
_LONGEST_WAIT_AT_A_LIMIT = 5.0


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """How patient a client is.

    Parameters
    ----------
    max_attempts : int
        The first one included.
    initial_backoff, max_backoff : float
        Seconds between the first two attempts, and at most.
    multiplier : float
        Of the delay, from attempt to attempt.
    jitter : float
        Each delay is drawn from ``backoff * [1 - jitter, 1 + jitter]``.
    """

    max_attempts: int = 5
    initial_backoff: float = 0.1
    multiplier: float = 2.0
    max_backoff: float = 5.0
    jitter: float = 0.25


CALLS = RetryPolicy()
WATCHES = RetryPolicy(max_attempts=24)


def is_worth_another(error: MercerError) -> bool:
    """UNAVAILABLE, and a limit that asks for another attempt within seconds. Nothing else."""
    if error.code == "UNAVAILABLE":
        return True
    delay = error.retry_delay
    at_a_limit = error.code == "RESOURCE_EXHAUSTED" and delay is not None
    return at_a_limit and delay is not None and delay <= _LONGEST_WAIT_AT_A_LIMIT


class Backoff:
    """The delays between the attempts of one call."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._random = random.Random()
        self.reset()

    def reset(self) -> None:
        """The last attempt got somewhere: begin counting anew."""
        self._attempts = 1
        self._backoff = self._policy.initial_backoff

    def next_delay(self, error: MercerError, retryable: Optional[bool] = None) -> Optional[float]:
        """Seconds to wait before the next attempt; None when there is to be none."""
        worth = is_worth_another(error) if retryable is None else retryable
        if not worth or self._attempts >= self._policy.max_attempts:
            return None
        self._attempts += 1
        jitter = self._policy.jitter
        drawn = self._backoff * self._random.uniform(1.0 - jitter, 1.0 + jitter)
        self._backoff = min(self._backoff * self._policy.multiplier, self._policy.max_backoff)
        return max(drawn, error.retry_delay or 0.0)

    def _sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def wait_or_raise(self, error: MercerError, retryable: Optional[bool] = None) -> None:
        """Waits before the next attempt, or raises `error`."""
        delay = self.next_delay(error, retryable)
        if delay is None:
            raise error
        self._sleep(delay)


def call_with_retries(attempt: Callable[[], Result], policy: RetryPolicy = CALLS) -> Result:
    """Calls `attempt` until it succeeds, fails for good, or the attempts are used up."""
    backoff = Backoff(policy)
    while True:
        try:
            return attempt()
        except MercerError as error:
            backoff.wait_or_raise(error)
