"""Answers beside the OpenAPI document: whether each has a status and a body that the document promises."""

import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema_rs
from falcon import testing

from orchestrator.api.application import described_routes
from orchestrator.api.door import Door
from orchestrator.api.openapi import document_of


class Conformance:
    """Checks answers by the document of an application."""

    def __init__(self, door: Door) -> None:
        self.document = document_of(described_routes(door))
        self._paths = [
            # What is said of an address as it is written counts before what is said of one with names in it.
            (re.compile(re.sub(r"{\w+}", "[^/]+", path)), operations)
            for path, operations in sorted(
                self.document["paths"].items(), key=lambda each: each[0].count("{")
            )
        ]
        self._validator = cache(self._made)

    def check(self, method: str, path: str, answer: testing.Result) -> None:
        """Fail unless the document promises such an answer; addresses and methods that it has not are errors."""
        operation = self._operation(method, path.rstrip("/") or "/")
        if operation is None:
            assert answer.status_code in (302, 400, 401, 403, 404, 405), (method, path, answer.status)
            return
        responses: Mapping[str, Any] = operation["responses"]
        status = str(answer.status_code)
        key = status if status in responses else f"{status[0]}XX"
        # A name of an address may have a slash, or be an ARN, which is redirected before.
        if key not in responses:
            assert status == "302", (method, path, answer.status, answer.text)
            return
        response = responses[key]
        if "$ref" in response:
            response = self.document["components"]["responses"]["Fault"]
        if "content" not in response:
            assert not answer.content or answer.headers["content-type"].startswith("text/"), (method, path)
            return
        assert answer.headers["content-type"] == "application/json", (method, path, answer.headers)
        schema = response["content"]["application/json"]["schema"]
        is_packed = answer.headers.get("content-encoding") == "gzip"
        body = json.loads(gzip.decompress(answer.content)) if is_packed else answer.json
        error = next(iter(self._validator(_Frozen(schema)).iter_errors(body)), None)
        assert error is None, (method, path, error)

    def _operation(self, method: str, path: str) -> Mapping[str, Any] | None:
        for pattern, operations in self._paths:
            if pattern.fullmatch(path):
                found: Mapping[str, Any] | None = operations.get(method.lower())
                return found
        return None

    def _made(self, schema: "_Frozen") -> jsonschema_rs.Validator:
        whole = {**schema.data, "components": self.document["components"]}
        return jsonschema_rs.validator_for(whole, validate_formats=True)


class _Frozen:
    """A schema, which is the same as another if it is the same object."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def __hash__(self) -> int:
        return id(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self.data is other.data
