"""How many requests a minute: all at once or spread, and back with time."""

from monitor.web.rate_limits import Allowance, RateLimiter


class Watch:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_as_many_as_the_limit_pass_at_once_and_one_more_waits_for_its_share_of_the_minute() -> None:
    watch = Watch()
    limiter = RateLimiter(watch)
    assert [limiter.take("robot", 3).remaining for _ in range(3)] == [2, 1, 0]
    assert limiter.take("robot", 3) == Allowance(is_granted=False, remaining=0, reset_s=60, retry_after_s=20)
    assert limiter.take("other", 3).is_granted
    watch.now_s += 20
    assert limiter.take("robot", 3).is_granted
    assert not limiter.take("robot", 3).is_granted
    watch.now_s += 60
    assert limiter.take("robot", 3) == Allowance(is_granted=True, remaining=2, reset_s=20, retry_after_s=1)


def test_a_lower_limit_holds_at_once() -> None:
    watch = Watch()
    limiter = RateLimiter(watch)
    assert all(limiter.take("robot", 100).is_granted for _ in range(100))
    assert not limiter.take("robot", 2).is_granted
    watch.now_s += 31
    assert limiter.take("robot", 2).is_granted


def test_who_has_gone_is_forgotten() -> None:
    watch = Watch()
    limiter = RateLimiter(watch)
    for number in range(10_000):
        limiter.take(f"robot-{number}", 60)
    watch.now_s += 60
    limiter.take("robot", 60)
    assert len(limiter._free_at_s) == 1
