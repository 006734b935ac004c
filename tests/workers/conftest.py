"""Makes the shared web fixtures visible to the tests of this folder."""

from tests.webapp.fixtures import (  # noqa: F401
    _fast_passwords,
    _own_redis,
    ask,
    fake_pool,
    operator,
    owner,
    person,
    redis_server,
    stranger,
)
