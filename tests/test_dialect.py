"""Which parameters an endpoint takes, in the words that endpoints use."""

import pytest

from poolkit.dialect import OPENAI, Dialect, is_alias, parameters_fault, spoken

SCHEMA = {"type": "json_schema", "json_schema": {}}


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead.",
            "max_completion_tokens=9 response_format=json_schema temperature=0",
        ),
        (
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.",
            "max_tokens=9 response_format=json_schema",
        ),
        (
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            "max_tokens=9 response_format=json_object temperature=0",
        ),
        ("failed to parse grammar", "max_tokens=9 response_format=json_object temperature=0"),
    ],
)
def test_a_refusal_changes_the_form(said, shown):
    dialect = Dialect({"temperature": 0, "max_tokens": 9})
    assert dialect.learn(said, dialect.form(SCHEMA))
    assert spoken(dialect.form(SCHEMA)) == shown


def test_response_formats_are_given_up_in_two_steps():
    dialect = Dialect()
    for shown in ("response_format=json_object", ""):
        assert dialect.learn("response_format is not supported", dialect.form(SCHEMA))
        assert spoken(dialect.form(SCHEMA)) == shown
    assert not dialect.learn("response_format is not supported", dialect.form(SCHEMA))


def test_one_lesson_many_pupils():
    """Calls that were in flight together are refused for the same thing; it is learnt once."""
    dialect = Dialect({"temperature": 0})
    form = dialect.form(SCHEMA)
    assert dialect.learn("temperature", form)
    assert dialect.learn("temperature", form)
    assert dialect.learnt == ["no temperature"]


def test_other_refusals_teach_nothing():
    dialect = Dialect({"temperature": 0})
    assert not dialect.learn("the sky is blue", dialect.form(SCHEMA))
    assert not dialect.learn("temperature too high on the server", dialect.form(SCHEMA), only_format=True)


@pytest.mark.parametrize(
    ("model", "base_url", "alias"),
    [
        ("gpt-4.1-2025-04-14", OPENAI, False),
        ("gpt-4.1", OPENAI + "/", True),
        ("gpt-3.5-turbo-0125", OPENAI, False),
        ("ft:gpt-4.1-2025-04-14:team::abc", OPENAI, False),
        ("gpt-4.1", "https://team.openai.azure.com/openai/v1/", False),  # a deployment's name, pinned there
        ("claude-sonnet-4-6", "https://api.anthropic.com/v1/", False),
        ("claude-3-7-sonnet-latest", "https://api.anthropic.com/v1/", True),
        ("llama3.2:latest", "http://localhost:11434/v1", True),
        ("Qwen/Qwen2.5-7B-Instruct", "http://localhost:8000/v1", False),
    ],
)
def test_names_that_may_mean_another_model_tomorrow(model, base_url, alias):
    assert is_alias(model, base_url) == alias


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({"temperature": 0.5, "max_completion_tokens": 10, "stop": ["x"]}, ""),
        ({"stream": True}, "parameters cannot hold 'stream'; poolkit sets it, or it is a secret"),
        (
            {"max_tokens": True},
            "parameters: max_tokens is 'True'; it must be a whole number from 1 to 1,000,000,000",
        ),
        ({"auth_token": "x"}, "parameters cannot hold 'auth_token'; poolkit sets it, or it is a secret"),
        (
            {"headers": {"a": "Bearer abcdefgh1234"}},
            "parameters cannot hold 'headers'; poolkit sets it, or it is a secret",
        ),
        ({"max_tokens": 5, "user": "sk-team"}, ""),
        ({"response_format": "json"}, "parameters: response_format is 'json'; it must be a table"),
    ],
)
def test_faults_of_parameters(parameters, fault):
    assert parameters_fault(parameters) == fault
