"""Is an agent that asks for a person's judgment told so, whichever of them it is?"""

from config.access import JUDGMENTS, OWNER, TABLE


def test_every_judgment_of_the_api_has_its_words():
    judgments = {
        endpoint
        for endpoint, methods in TABLE.items()
        for method, rule in methods.items()
        if endpoint.startswith("api-") and method != "GET" and OWNER in rule.roles and not rule.scopes
    }
    assert judgments == JUDGMENTS.keys()
