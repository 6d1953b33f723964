"""Templates and an environment that together have every section, every key and every function of the language."""

from collections.abc import Mapping
from typing import Any

from orchestrator.model.messages import EnvironmentSource, StackJob

HOT = """\
heat_template_version: wallaby
description: every section and every function
parameter_groups:
- {label: Sizes, description: how large, parameters: [count, names]}
- {parameters: [code]}
parameters:
  count:
    type: number
    label: Count
    description: how many
    default: 4
    constraints:
    - range: {min: 1, max: 9}
      description: not too many
    - modulo: {step: 2, offset: 0}
    - allowed_values: [2, 4, 6]
  names: {type: comma_delimited_list, default: 'web,db,', constraints: [{length: {min: 1, max: 9}}]}
  stage: {type: string, default: test, constraints: [{allowed_values: [test, live]}, {allowed_pattern: '[a-z]+'}]}
  address: {type: string, default: 10.0.0.1, constraints: [{custom_constraint: ip_addr}]}
  code: {type: string, default: s3cret, hidden: true, immutable: true, tags: [secret]}
  disk: {type: json, default: {size: 20, mounts: [{path: /srv}, {path: /var}]}, schema: {}}
  spare: {type: boolean, default: 'no'}
conditions:
  live: {equals: [{get_param: stage}, live]}
  calm: {not: live}
  many: {and: [calm, {or: [live, {not: {get_param: spare}}]}]}
  web: {contains: [web, {get_param: names}]}
  large: {yaql: {expression: $.data > 3, data: {get_param: count}}}
  always: true
resources:
  word: &word
    type: OS::Heat::RandomString
    condition: calm
    description: a word
    metadata: {role: web, of: {get_param: stage}}
    deletion_policy: retain
    properties:
      length: {get_param: count}
      salt: {get_param: code}
  other:
    <<: *word
    depends_on: [word, old]
    deletion_policy: Delete
  old: {type: OS::Heat::None, external_id: '17', condition: {not: live}}
  more: {type: OS::Heat::None, condition: live, depends_on: word, update_policy: {}}
  texts:
    type: OS::Heat::Value
    properties:
      type: json
      value:
        replaced: {str_replace: {template: 'http://HOST/N', params: {HOST: {get_param: address}, N: 7}}}
        strict: {str_replace_strict: {template: a-X, params: {X: {get_attr: [word, value]}}}}
        strictest: {str_replace_vstrict: {template: a-X, params: {X: {get_param: [disk, mounts, 0, path]}}}}
        joined: {list_join: [', ', {get_param: names}, [{get_param: disk}, x]]}
        split: {str_split: [',', 'a,b,c', 1]}
        digest: {digest: [sha256, {get_param: stage}]}
        url: {make_url: {scheme: https, username: me, password: {get_param: code}, host: '::1', port: 80, path: /a b,
                         query: {q: 1, r: null}, fragment: top}}
        file: {get_file: greet.sh}
        which: {get_file: {list_join: ['', [greet, .sh]]}}
        word: {get_resource: word}
        all: {get_attr: [word]}
  lists:
    type: OS::Heat::Value
    depends_on: texts
    properties:
      value:
      - list_concat: [{get_param: names}, [1, 2.5, null, true], null]
      - list_concat_unique: [[a, b], [b, {get_attr: [texts, value, split]}]]
      - filter: [[web, null], {get_param: names}]
      - contains: [{get_param: stage}, {get_param: names}]
      - repeat: {template: {'%n%': '%n%-%s%'}, for_each: {'%n%': {get_param: names}, '%s%': [x, y]}}
      - repeat: {template: '<a><b>', for_each: {<a>: [x, y], <b>: ['1', '2']}, permutations: false}
      - yaql: {expression: '$.data.mounts.select($.path)', data: {get_param: disk}}
      - yaql: {expression: $.data.len(), data: {get_attr: [texts, value]}}
      - map_merge: [{a: 1}, {get_param: disk}, null]
      - map_replace: [{a: x, b: y}, {keys: {a: c}, values: {y: {get_param: count}}}]
      - if: [many, {get_param: count}, {get_param: nowhere}]
      - if: [live, gone]
      - {if: {get_resource: word}, two: keys}
outputs:
  texts: {description: all of them, value: {get_attr: [texts, value]}}
  lists: {value: [{get_attr: [lists, show]}, {get_param: 'OS::stack_name'}, {get_param: 'OS::stack_id'}]}
  gone: {value: {get_resource: more}, condition: live}
  code: {value: {get_param: code}, condition: {equals: [1, 1.0]}}
"""

CFN = """\
AWSTemplateFormatVersion: '2010-09-09'
Description: every section and every function of CFN
Parameters:
  Stage:
    Type: String
    Default: test
    AllowedValues: [test, live]
    AllowedPattern: '[a-z]*'
    MinLength: 1
    MaxLength: 9
    ConstraintDescription: a stage
    Description: where
    Label: Stage
  Size: {Type: Number, Default: '3', MinValue: 1, MaxValue: 9}
  Names: {Type: CommaDelimitedList, Default: 'a,b'}
  Data: {Type: Json, Default: '{"a": [1, 2]}'}
  Spare: {Type: Boolean, Default: true}
  Code: {Type: String, Default: s3cret, NoEcho: 'true'}
Mappings:
  sizes:
    test: {memory: 512, zones: [a, b]}
    live: {memory: 8192, zones: []}
Conditions:
  live: {'Fn::Equals': [{Ref: Stage}, live]}
  calm: {'Fn::Not': [{Condition: live}]}
  both: {'Fn::And': [calm, {'Fn::Or': [live, {Ref: Spare}]}]}
  small: {'Fn::Equals': [{'Fn::FindInMap': [sizes, {Ref: Stage}, memory]}, 512]}
Resources:
  word:
    Type: OS::Heat::RandomString
    Condition: both
    Metadata: {at: {'Fn::GetAZs': {Ref: 'AWS::Region'}}}
    DeletionPolicy: Retain
    Properties: {length: {Ref: Size}, salt: {Ref: Code}}
  all:
    Type: OS::Heat::Value
    DependsOn: [word]
    UpdatePolicy: {}
    Description: passed over
    Anything: is passed over too
    Properties:
      value:
      - {'Fn::GetAtt': [word, value]}
      - {Ref: word}
      - {'Fn::FindInMap': [sizes, {Ref: Stage}, zones]}
      - {'Fn::Select': ['0', {Ref: Names}]}
      - {'Fn::Select': [a, '{"a": 1}']}
      - {'Fn::MemberListToMap': [Name, Value, [.member.0.Name=colour, '.member.0.Value=red']]}
      - {'Fn::Join': [':', [{Ref: Stage}, null, {'Fn::GetAtt': [word, value]}]]}
      - {'Fn::Split': [',', 'a,b']}
      - {'Fn::Replace': [{HOST: {Ref: Stage}, PORT: 80}, 'http://HOST:PORT']}
      - {'Fn::Base64': '#!/bin/sh'}
      - {'Fn::If': [small, {Ref: Data}, {Ref: nowhere}]}
Outputs:
  word: {Description: it, Value: {'Fn::GetAtt': [word, value]}}
  stack: {Value: {'Fn::Join': ['/', [{Ref: 'AWS::StackName'}, {Ref: 'AWS::StackId'}]]}, Condition: calm}
"""

OUTER = """\
heat_template_version: rocky
parameters: {size: {type: number}, stage: {type: string}, names: {type: comma_delimited_list}}
resources:
  one: {type: My::Word, properties: {size: {get_param: size}, names: {get_param: names}}, metadata: {role: web}}
  two: {type: inner.yaml, properties: {names: {get_attr: [one, word]}}}
outputs:
  one: {value: {get_attr: [one, resource.word, value]}}
  two: {value: {get_attr: [two, role]}}
"""
INNER = """\
heat_template_version: newton
parameters:
  size: {type: number, default: 2}
  names: {type: comma_delimited_list}
resources:
  word: {type: My::String, properties: {length: {get_param: size}}}
outputs:
  word: {value: {get_attr: [word, value]}}
  role: {value: [{resource_facade: metadata}, {resource_facade: deletion_policy}, {resource_facade: update_policy}]}
"""
CFN_INNER = """\
HeatTemplateFormatVersion: '2012-12-12'
Parameters: {size: {Type: Number, Default: 2}, names: {Type: CommaDelimitedList}}
Resources:
  word: {Type: OS::Heat::RandomString, Metadata: {'Fn::ResourceFacade': Metadata}}
Outputs:
  word: {Value: {'Fn::GetAtt': [word, value]}}
  role: {Value: {'Fn::ResourceFacade': DeletionPolicy}}
"""

ENVIRONMENT = """\
parameters:
  stage: test
  names: [web, db]
parameter_defaults: {count: 6, size: 5, unknown: 1, disk: {mounts: [{path: /tmp}]}}
resource_registry:
  base_url: .
  My::Word: inner.yaml
  "My::S*": "OS::Heat::RandomS*"
  "Your::*": OS::Heat::None
  Old::Type: null
  resources:
    old: {My::Old: OS::Heat::None}
    "n*": {restricted_actions: [update, replace]}
    gone: null
    one: {word: {restricted_actions: update}, base_url: elsewhere}
event_sinks: []
encrypted_param_names: [address]
parameter_merge_strategies: {default: deep_merge, names: merge, disk: merge}
"""

FILES = {"greet.sh": "echo hello\n", "inner.yaml": INNER, "other.yaml": CFN_INNER}
#: Each can be taken for what a job is made of.
TEXTS = {
    "hot": HOT,
    "cfn": CFN,
    "outer": OUTER,
    "inner": INNER,
    "cfn inner": CFN_INNER,
    "environment": ENVIRONMENT,
}
#: The root template of the job that each of the others belongs to.
_ROOTS = {"hot": "hot", "cfn": "cfn", "environment": "hot"}
_PARAMETERS: Mapping[str, Mapping[str, Any]] = {"cfn": {"Size": "4"}, "hot": {"stage": "test", "count": 4}}


def job_of(name: str, text: str | None = None) -> StackJob:
    """Return a job with the text of this name, or another ``text`` in its place, and all that belongs to it."""
    texts = TEXTS if text is None else {**TEXTS, name: text}
    root = _ROOTS.get(name, "outer")
    inner = texts["cfn inner" if name == "cfn inner" else "inner"]
    environment = EnvironmentSource(file="e.yaml", source=texts["environment"])
    return StackJob(
        name="s",
        template=texts[root],
        template_file="t.yaml",
        files={**FILES, "inner.yaml": inner},
        environments=() if root == "cfn" else (environment,),
        parameters=_PARAMETERS.get(root, {}),
    )
