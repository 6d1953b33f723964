"""Signals and metadata in the style of EC2 and CloudFormation, signed by the signers of keystone's clients."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit
from xml.etree import ElementTree

import falcon
import pytest
from falcon import testing
from keystoneclient.contrib.ec2.utils import Ec2Signer

from orchestrator.api.door import Door
from orchestrator.definition import StackDefinition
from orchestrator.model.ec2_signatures import SignedRequest, SignedResource
from orchestrator.plugins.steps import ResourceState
from tests.unit.orchestrator.api.conftest import Client
from tests.waiting import until
from workers.resources.core.signalled import collector_of
from workers.resources.core.wait_condition import CfnWaitConditionHandle

NUMBERS = count(1)
WAITING: Final = {
    "AWSTemplateFormatVersion": "2010-09-09",
    "Resources": {
        "handle": {
            "Type": "AWS::CloudFormation::WaitConditionHandle",
            "Metadata": {"os-collect-config": {"cfn": "ü]]>"}},
        },
        "öther one": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
        "wait": {
            "Type": "AWS::CloudFormation::WaitCondition",
            "Properties": {"Handle": {"Ref": "handle"}, "Timeout": 300},
        },
    },
    "Outputs": {
        "url": {"Value": {"Ref": "handle"}},
        "data": {"Value": {"Fn::GetAtt": ["wait", "Data"]}},
    },
}
SIGNAL: Final = {"Status": "SUCCESS", "Reason": "done", "Data": "all of it", "UniqueId": "a"}
HOST: Final = "heat.example.com"


class Machine:
    """A machine of a stack, which has the key of one resource and no token."""

    def __init__(self, client: testing.TestClient, door: Door, stack: str, resource: str = "handle") -> None:
        self._client = client
        self.stack, self.stack_id = stack.split("/")[2:]
        self.resource = resource
        row = door._whole._store.stacks.resource(self.stack_id, resource)
        handle = CfnWaitConditionHandle(
            name=resource,
            type_name="AWS::CloudFormation::WaitConditionHandle",
            state=ResourceState(uuid=row.id, data=dict(row.data)),
            properties={},
            stack=StackDefinition(name=self.stack, id=self.stack_id, project="acme"),
            settings=door.settings,
            now=0.0,
        )
        collector = collector_of(handle)
        assert collector is not None
        self.keys = collector
        self.url = handle.cfn_signal_address() or ""

    def send(self, url: str, method: str = "PUT", **given: Any) -> testing.Result:
        """Send a request to an address as it is signed."""
        where = urlsplit(url)
        assert f"{where.scheme}://{where.netloc}" == f"http://{HOST}"
        return self._client.simulate_request(method, where.path, query_string=where.query, host=HOST, **given)

    def signed(self, path: str, method: str = "GET", *, secret: str = "", **params: str) -> str:
        """Return an address that is signed by keystone's client."""
        params = {"AWSAccessKeyId": self.keys.access_key_id, "SignatureVersion": "2", **params}
        signer = Ec2Signer(secret or self.keys.secret_access_key)
        request = {"verb": method, "host": HOST, "path": unquote(path), "params": params}
        params["Signature"] = signer.generate(request)
        return f"http://{HOST}{path}?{urlencode(params)}"

    def described(self, **params: str) -> str:
        """Return the address of the resource's metadata, as os-collect-config signs it unless told otherwise."""
        asked = {
            "Action": "DescribeStackResource",
            "StackName": self.stack,
            "LogicalResourceId": self.resource,
        }
        return self.signed("/v1/", **{**asked, **params})


def from_now(**duration: float) -> str:
    return (datetime.now(UTC) + timedelta(**duration)).strftime("%Y-%m-%dT%H:%M:%SZ")


def code_of(answer: testing.Result) -> tuple[int, str]:
    """Return the status and AWS's code of a fault."""
    root = ElementTree.fromstring(answer.content)
    assert root.tag == "ErrorResponse"
    assert root.findtext("Error/Message")
    return answer.status_code, root.findtext("Error/Code") or ""


WRONG: Final = (403, "SignatureDoesNotMatch")


@pytest.fixture
def path(client: Client) -> Iterator[str]:
    """A stack that waits for a signal."""
    name = f"cfn{next(NUMBERS)}"
    answer = client.ask("POST", "/stacks", json={"stack_name": name, "template": WAITING})
    assert answer.status == falcon.HTTP_CREATED, answer.text
    path = f"/stacks/{name}/{answer.json['stack']['id']}"

    def are_made() -> bool:
        found = client.get(f"{path}/resources", params={"type": "AWS::CloudFormation::WaitConditionHandle"})
        return {each["resource_status"] for each in found["resources"]} == {"CREATE_COMPLETE"}

    until(are_made)
    yield path
    client.ask("DELETE", path)


@pytest.fixture
def machine(clients: Mapping[str, Client], door: Door, path: str) -> Machine:
    return Machine(clients[""]._client, door, path)


@pytest.fixture
def neighbour(clients: Mapping[str, Client], door: Door, path: str) -> Machine:
    """A machine with the key of another resource of the stack."""
    return Machine(clients[""]._client, door, path, "öther one")


def test_reference_of_the_handle_is_where_cfn_signal_sends_to(
    client: Client, machine: Machine, path: str
) -> None:
    told = machine.send(machine.url, body=json.dumps(SIGNAL))
    assert (told.status, told.text) == (falcon.HTTP_OK, "null")
    found = client.wait(path, "CREATE_COMPLETE")
    outputs = {each["output_key"]: each["output_value"] for each in found["outputs"]}
    assert outputs == {"url": machine.url, "data": '{"a": "all of it"}'}
    assert "/v1/waitcondition/arn%3Aopenstack%3Aheat%3A%3Aacme%3Astacks/" in machine.url


@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded", ""])
@pytest.mark.parametrize(
    ("kind", "method"), [("waitcondition", "POST"), ("signal", "POST"), ("waitcondition", "PUT")]
)
def test_signal_that_a_client_signs_itself_is_taken(
    client: Client, machine: Machine, path: str, kind: str, method: str, content_type: str
) -> None:
    where = urlsplit(machine.url).path.replace("waitcondition", kind)
    url = machine.signed(where, method, Timestamp=from_now())
    told = machine.send(url, method, body=json.dumps(SIGNAL), headers={"Content-Type": content_type})
    assert told.status == falcon.HTTP_OK, told.text
    client.wait(path, "CREATE_COMPLETE")


def test_signature_opens_nothing_but_its_resource(
    machine: Machine, neighbour: Machine, client: Client, path: str
) -> None:
    wrong = {
        "another resource": machine.url.replace("handle?", "wait?"),
        "the key of another": machine.url.replace(machine.keys.access_key_id, neighbour.keys.access_key_id),
        "another time": machine.url.replace("Expires=20", "Expires=21"),
        "another signature": machine.url[:-6] + "AAA%3D",
        "another address": machine.url.replace("waitcondition", "signal"),
        "the secret of another": machine.signed(
            urlsplit(machine.url).path,
            "PUT",
            secret=neighbour.keys.secret_access_key,
            Expires=from_now(days=1),
        ),
        "a key of no stack": machine.url.replace(
            machine.keys.access_key_id, SignedResource("acme", "none", "handle").access_key
        ),
        "a key of no resource": machine.url.replace(
            machine.keys.access_key_id, SignedResource("acme", machine.stack_id, "none").access_key
        ),
        "a key of every project": machine.url.replace(
            machine.keys.access_key_id, SignedResource("*", machine.stack_id, "handle").access_key
        ),
        "a key that cannot be looked for": machine.url.replace(
            machine.keys.access_key_id, SignedResource("acme", "\ud800", "handle").access_key
        ),
        "half a key": machine.url.replace(machine.keys.access_key_id, machine.keys.access_key_id[:-8]),
        "no such key": machine.url.replace(machine.keys.access_key_id, "%C3%BC"),
    }
    told = set()
    for what, url in wrong.items():
        method = "POST" if "/signal/" in url else "PUT"
        answer = machine.send(url, method, body=json.dumps(SIGNAL))
        assert code_of(answer) == WRONG, what
        told.add(ElementTree.fromstring(answer.content).findtext("Error/Message"))
    assert len(told) == 1, "what is wrong must not tell what there is"
    assert neighbour.send(neighbour.url, body=json.dumps(SIGNAL)).status == falcon.HTTP_OK
    # What is signed as it should be, by who has the key of another.
    url = neighbour.signed(urlsplit(machine.url).path, "PUT", Expires=from_now(days=1))
    assert code_of(neighbour.send(url, body=json.dumps(SIGNAL))) == (403, "AccessDenied")
    assert client.get(path)["stack"]["stack_status"] == "CREATE_IN_PROGRESS"


def test_signal_is_refused_after_its_time(machine: Machine) -> None:
    where = urlsplit(machine.url).path
    for times in (
        {"Timestamp": from_now(minutes=-16)},
        {"Timestamp": from_now(minutes=16)},
        {"Expires": from_now(seconds=-1)},
        {"Timestamp": "soon"},
        {"Timestamp": from_now(), "Expires": from_now(seconds=-1)},
        {},
    ):
        assert code_of(machine.send(machine.signed(where, "PUT", **times), json=SIGNAL)) == WRONG, times


def test_key_ends_at_its_time_and_with_its_resource(
    machine: Machine, client: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = SignedRequest.is_genuine

    def later(self: SignedRequest, data: Mapping[str, Any], *, now: float, timed: bool) -> bool:
        return genuine(self, data, now=now + 366 * 86400, timed=timed)

    described = machine.described()
    assert machine.send(described, "GET").status == falcon.HTTP_OK
    with monkeypatch.context() as patched:
        patched.setattr(SignedRequest, "is_genuine", later)
        assert code_of(machine.send(described, "GET")) == WRONG
    client.ask("DELETE", path)
    until(lambda: client.ask("GET", path).json["stack"]["stack_status"] == "DELETE_COMPLETE")
    assert code_of(machine.send(described, "GET")) == WRONG
    assert code_of(machine.send(machine.url, json=SIGNAL)) == WRONG


def test_malformed_signals_are_refused(machine: Machine, door: Door) -> None:
    for body in (
        "{",
        "[1]",
        '{"Status": "MAYBE"}',
        '{"Colour": "red"}',
        '{"Reason": "\\u0000"}',
        "[" * 50_000,
    ):
        assert code_of(machine.send(machine.url, body=body)) == (400, "ValidationError"), body
    hook = machine.send(machine.url, json={"unset_hook": "pre-create"})
    assert code_of(hook) == (403, "AccessDenied")
    large = machine.send(machine.url, body=b" " * (door.settings.max_value_bytes + 1))
    assert code_of(large) == (400, "ValidationError")
    for query in ("a=1&a=2", "&".join(f"a{each}=" for each in range(99))):
        assert code_of(machine.send(f"{machine.url}&{query}", json=SIGNAL)) == (400, "ValidationError")
    for bare in (machine.url.partition("?")[0], machine.url.replace("HmacSHA256", "HmacSHA1")):
        assert code_of(machine.send(bare, json=SIGNAL)) == (400, "IncompleteSignature")


@pytest.mark.parametrize(
    ("kind", "wrong"), [("waitcondition", "GET"), ("waitcondition", "DELETE"), ("signal", "PUT")]
)
def test_signal_is_sent_with_its_methods_only(machine: Machine, kind: str, wrong: str) -> None:
    answer = machine.send(machine.url.replace("waitcondition", kind), wrong)
    assert code_of(answer) == (405, "InvalidAction")
    assert "POST" in answer.headers["allow"]


def test_metadata_are_described_as_os_collect_config_reads_them(machine: Machine) -> None:
    for given in ({}, {"StackName": machine.stack_id}, {"Timestamp": from_now()}):
        answer = machine.send(machine.described(**given), "GET", headers={"Content-Type": "application/json"})
        assert answer.headers["content-type"].startswith("application/xml")
        assert answer.content.isascii(), (
            "lxml reads no declared encoding in what os-collect-config has decoded"
        )
        assert not answer.text.startswith("<?")
        root = ElementTree.fromstring(answer.content)
        assert root.tag == "DescribeStackResourceResponse"
        detail = root.find("DescribeStackResourceResult/StackResourceDetail")
        assert detail is not None
        assert json.loads(detail.findtext("Metadata") or "") == {"os-collect-config": {"cfn": "ü]]>"}}
        assert detail.findtext("ResourceStatus") == "CREATE_COMPLETE"
        assert (
            detail.findtext("StackId")
            == f"arn:openstack:heat::acme:stacks/{machine.stack}/{machine.stack_id}"
        )


def test_metadata_are_described_to_a_form(machine: Machine) -> None:
    url = machine.described().replace("GET", "POST")
    params = dict(parse_qsl(urlsplit(machine.described()).query))
    del params["Signature"]
    signer = Ec2Signer(machine.keys.secret_access_key)
    params["Signature"] = signer.generate({"verb": "POST", "host": HOST, "path": "/v1/", "params": params})
    answer = machine.send(url.partition("?")[0], "POST", body=urlencode(params))
    assert answer.status == falcon.HTTP_OK, answer.text


def in_header(machine: Machine, *, date: str = "", **params: str) -> dict[str, str]:
    """Return the headers of a request of signature version 4, as boto sends them."""
    date = date or datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{machine.keys.access_key_id}/{date[:8]}/north/{HOST}/aws4_request"
    headers = {
        "Authorization": f"AWS4-HMAC-SHA256 Credential={scope},SignedHeaders=host;x-amz-date,Signature=",
        "Host": HOST,
        "X-Amz-Date": date,
    }
    signature = Ec2Signer(machine.keys.secret_access_key).generate(
        {
            "verb": "GET",
            "host": HOST,
            "path": "/v1/",
            "params": params,
            "headers": headers,
            "body_hash": sha256(b"").hexdigest(),
        }
    )
    return {**headers, "Authorization": headers["Authorization"] + signature}


def test_metadata_are_described_as_boto_asks_for_them(machine: Machine) -> None:
    params = {
        "Action": "DescribeStackResource",
        "ContentType": "JSON",
        "LogicalResourceId": "handle",
        "StackName": machine.stack,
    }
    url = f"http://{HOST}/v1/?{urlencode(params)}"
    headers = in_header(machine, **params)
    answer = machine.send(url, "GET", headers=headers)
    found = answer.json["DescribeStackResourceResponse"]["DescribeStackResourceResult"]["StackResourceDetail"]
    assert json.loads(found["Metadata"]) == {"os-collect-config": {"cfn": "ü]]>"}}
    old = (datetime.now(UTC) - timedelta(minutes=16)).strftime("%Y%m%dT%H%M%SZ")
    for wrong in (
        {**headers, "Authorization": headers["Authorization"][:-4] + "0000"},
        {**headers, "X-Amz-Date": "20200101T000000Z"},
        {name: each for name, each in headers.items() if name != "X-Amz-Date"},
        in_header(machine, date=old, **params),
    ):
        refused = machine.send(url, "GET", headers=wrong)
        assert (refused.status_code, refused.json["ErrorResponse"]["Error"]["Code"]) == WRONG
    assert machine.send(f"{url}&x=1", "GET", headers=headers).status == falcon.HTTP_FORBIDDEN
    assert machine.send(url, "GET", headers=headers, body="x").status == falcon.HTTP_FORBIDDEN


def test_key_describes_nothing_but_its_resource(machine: Machine, neighbour: Machine) -> None:
    assert code_of(machine.send(machine.described(LogicalResourceId=neighbour.resource), "GET")) == (
        403,
        "AccessDenied",
    )
    assert code_of(machine.send(machine.described(StackName="none"), "GET")) == (403, "AccessDenied")
    assert code_of(machine.send(machine.described(Timestamp=from_now(minutes=-16)), "GET")) == WRONG
    forged = machine.described(secret=neighbour.keys.secret_access_key)
    assert code_of(machine.send(forged, "GET")) == WRONG
    assert code_of(machine.send(machine.described(Action="ListStacks"), "GET")) == (400, "InvalidAction")
    assert code_of(machine.send(f"http://{HOST}/v1/?Action=ListStacks", "GET")) == (
        400,
        "IncompleteSignature",
    )
    assert code_of(machine.send(f"http://{HOST}/v1/", "POST", body="x" * 20_000)) == (400, "ValidationError")
    assert machine.send(f"http://{HOST}/v1/", "DELETE").status == falcon.HTTP_METHOD_NOT_ALLOWED


def test_signature_for_the_address_in_front_of_a_proxy_is_taken(machine: Machine) -> None:
    where = urlsplit(machine.described())
    answer = machine._client.simulate_get("/v1/", query_string=where.query, host="10.0.0.1")
    assert answer.status == falcon.HTTP_OK


def test_versions_are_where_they_were(machine: Machine) -> None:
    assert machine.send(f"http://{HOST}/v1/", "GET").json["versions"]


def test_secret_of_a_collector_is_not_shown(machine: Machine) -> None:
    assert machine.keys.secret_access_key not in repr(machine.keys)
    assert asdict(machine.keys) | {"access_key_id": "", "secret_access_key": ""} == {
        "metadata_url": f"http://{HOST}/v1/",
        "access_key_id": "",
        "secret_access_key": "",
        "stack_name": machine.stack,
        "path": "handle.Metadata",
    }
