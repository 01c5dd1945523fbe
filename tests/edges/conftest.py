"""One explainer of each sort, for each test that asks for its name."""

import pytest

from tests.contract.explainers.registry import ONE_EACH, names


@pytest.fixture(params=names(only=ONE_EACH))
def name(request):
    return str(request.param)
