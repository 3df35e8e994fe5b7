# SPDX-License-Identifier: Apache-2.0
"""The container, the compose files and the Helm chart in deploy/: checked, and not run, for no containers run
here."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import typer.main
import yaml
from ciphermote.cli.serve import serve

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose"
CHART = DEPLOY / "helm" / "ciphermote"
COMPOSE_SPEC = ROOT / "build" / "compose-spec" / "cmd"
HELM = ROOT / "build" / "helm" / "helm"
KUBERNETES = "1.30"

needs_compose_spec = pytest.mark.skipif(not COMPOSE_SPEC.exists(), reason="not built: make deploy-tools")
needs_helm = pytest.mark.skipif(not HELM.exists(), reason="not built: make deploy-tools")


def variables() -> set[str]:
    """Return the variables that `ciphermote serve` reads."""
    parser = typer.Typer(add_completion=False, context_settings={"auto_envvar_prefix": "CIPHERMOTE"})
    parser.command()(serve)
    command = typer.main.get_command(parser)
    return {f"CIPHERMOTE_{parameter.name}".upper() for parameter in command.params if parameter.name}


def run(*command: object, cwd: Path = ROOT, code: int = 0) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


# --- the container ------------------------------------------------------------------------------------------


def test_the_container_installs_the_wheel_as_a_user_without_privileges() -> None:
    text = (DEPLOY / "container" / "Containerfile").read_text()
    _, build, final = text.split("\nFROM ")
    assert "pip wheel" in build and "COPY" not in final
    user = final.index("\nUSER 10001:10001\n")
    assert user < final.index("pip install") and "USER" not in final[user + 6 :]
    extras = re.findall(r"\[([\w,]+)\]'", text)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert len(set(extras)) == 1 and set(extras[0].split(",")) <= known.keys()
    assert set(re.findall(r"(CIPHERMOTE_\w+)=", text)) <= variables()


# --- compose ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compose files beside what prepare.sh makes."""
    folder = tmp_path_factory.mktemp("compose")
    run(COMPOSE / "prepare.sh", folder)
    user = (folder / ".env").read_text().strip().removeprefix("CIPHERMOTE_USER=")
    for path in COMPOSE.glob("*.yaml"):
        text = path.read_text().replace("${CIPHERMOTE_USER:?run prepare.sh first}", user)
        (folder / path.name).write_text(text)
    return folder


def model(folder: Path, *names: str) -> dict[str, Any]:
    """Return what the specification's own reader makes of these files, once it has checked them."""
    done = subprocess.run(
        (COMPOSE_SPEC, "-format", "json", *names), cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@needs_compose_spec
@pytest.mark.parametrize("files", [("compose.yaml",), ("compose.yaml", "compose.ray.yaml")])
def test_the_compose_files_are_valid_and_hold_no_secret(prepared: Path, files: tuple[str, ...]) -> None:
    services = model(prepared, *files)["services"]
    assert {"postgres", "store", "broker", "gateway-a", "gateway-b"} <= services.keys()
    text = json.dumps({name: each for name, each in services.items() if name != "store"})
    for path in (prepared / "secrets").iterdir():
        content = path.read_text().strip()
        assert path.suffix in (".pem", ".srl") or content not in text, path.name
    assert not re.search("[0-9a-f]{64}", text)
    for name, service in services.items():
        mounted = {secret["target"] for secret in service.get("secrets", ())}
        shown = json.dumps([service.get("environment"), service["command"]])
        used = set(re.findall(r"/run/secrets/[\w.]+", shown))
        assert used <= mounted, name
        assert service["user"] == _owner(prepared), name


def _owner(folder: Path) -> str:
    found = (folder / "secrets" / "ca.key").stat()
    return f"{found.st_uid}:{found.st_gid}"


@needs_compose_spec
def test_the_schema_refuses_a_compose_file_that_is_wrong(prepared: Path) -> None:
    text = (prepared / "compose.yaml").read_text().replace("stop_grace_period", "stop_grace_time", 1)
    (prepared / "wrong.yaml").write_text(text)
    run(COMPOSE_SPEC, "wrong.yaml", cwd=prepared, code=1)
    (prepared / "wrong.yaml").unlink()


def test_the_gateways_variables_are_options_of_serve() -> None:
    service = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]["gateway-a"]
    named = {name for name in service["environment"] if name.startswith("CIPHERMOTE_")}
    assert len(named) > 5 and named <= variables()


def test_ray_runs_with_its_token_and_tls_and_without_dashboard() -> None:
    services = yaml.safe_load((COMPOSE / "compose.ray.yaml").read_text())["services"]
    for name, service in services.items():
        environment = service["environment"]
        assert (environment["RAY_AUTH_MODE"], environment["RAY_USE_TLS"]) == ("token", "1"), name
        assert {"ca.pem", "ray.pem", "ray.key", "ray_token"} <= {*service["secrets"], "ca.pem"}, name
        assert not {"wrap.key", "pgpass"} & {*service["secrets"]}, name
    assert "--include-dashboard=false" in services["ray-head"]["entrypoint"]


def test_prepare_makes_certificates_and_secrets_once(prepared: Path) -> None:
    secrets = prepared / "secrets"
    before = {path: path.read_bytes() for path in prepared.rglob("*") if path.is_file()}
    assert {stat.S_IMODE(path.stat().st_mode) for path in secrets.iterdir()} == {0o600}
    for name, host in (("postgres", "postgres"), ("gateway", "gateway-b"), ("gateway", "broker")):
        asked = ("-CAfile", secrets / "ca.pem", "-verify_hostname", host, secrets / f"{name}.pem")
        assert "OK" in run("openssl", "verify", *asked)
    asked = ("-CAfile", secrets / "ca.pem", "-verify_ip", "10.201.0.21", secrets / "ray.pem")
    assert "OK" in run("openssl", "verify", *asked)
    keys = [(prepared / "data" / name / "wrap.key").read_bytes() for name in ("gateway-a", "gateway-b")]
    assert keys[0] == keys[1] and len(keys[0]) == 32
    for path in before.keys() - set(prepared.glob("*.yaml")):
        run("git", "check-ignore", COMPOSE / path.relative_to(prepared))
    run(COMPOSE / "prepare.sh", prepared)
    assert {path: path.read_bytes() for path in before} == before


# --- Helm ---------------------------------------------------------------------------------------------------


def rendered(values: Path, *options: str) -> list[dict[str, Any]]:
    text = run(HELM, "template", "gw", CHART, "--kube-version", KUBERNETES, "-f", values, *options)
    return [each for each in yaml.safe_load_all(text) if each]


@pytest.fixture(scope="module", params=["all", "least"])
def objects(request: pytest.FixtureRequest) -> Iterator[list[dict[str, Any]]]:
    yield rendered(CHART / "ci" / f"{request.param}-values.yaml")


def of_kind(objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def named(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in of_kind(objects, kind) if each["metadata"]["name"] == name]
    return found


def pods(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each["spec"]["template"]["spec"] for each in of_kind(objects, "Deployment")]


@needs_helm
def test_helm_has_nothing_to_object_to() -> None:
    for values in (CHART / "ci").iterdir():
        run(HELM, "lint", "--strict", CHART, "-f", values)


@needs_helm
def test_each_object_is_as_kubernetes_describes_it(objects: list[dict[str, Any]]) -> None:
    for each in objects:
        kubernetes_validate.validate(each, KUBERNETES, strict=True)


@needs_helm
def test_secrets_come_as_files_only(objects: list[dict[str, Any]]) -> None:
    assert of_kind(objects, "Secret") == []
    for pod in pods(objects):
        mounted = {volume["name"] for volume in pod["volumes"]}
        for container in (*pod["initContainers"], *pod["containers"]):
            assert not any("valueFrom" in each for each in container.get("env", ()))
            assert "envFrom" not in container
            shown = json.dumps([container.get("env"), container.get("args")]).lower()
            assert not re.search(r"postgresql://\w+:[^@]*@|secret_access_key|pgpassword", shown)
            assert {mount["name"] for mount in container["volumeMounts"]} <= mounted
            paths = {mount["mountPath"] for mount in container["volumeMounts"]}
            for path in re.findall(r'"(/(?:secrets|keys|data)/[^"]+)"', json.dumps(container.get("env", []))):
                assert any(path.startswith(f"{mounted_at}/") for mounted_at in paths), path


@needs_helm
def test_no_container_has_privileges(objects: list[dict[str, Any]]) -> None:
    for pod in pods(objects):
        assert pod["securityContext"]["runAsNonRoot"] is True and not pod["automountServiceAccountToken"]
        for container in (*pod["initContainers"], *pod["containers"]):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


@needs_helm
def test_an_upgrade_never_leaves_fewer_gateways(objects: list[dict[str, Any]]) -> None:
    gateway = named(objects, "Deployment", "gw-ciphermote")
    assert gateway["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert gateway["spec"]["replicas"] >= 2
    (budget,) = of_kind(objects, "PodDisruptionBudget")
    labels = gateway["spec"]["template"]["metadata"]["labels"]
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (container,) = gateway["spec"]["template"]["spec"]["containers"]
    probes = {name: container[name]["httpGet"]["path"] for name in ("readinessProbe", "livenessProbe")}
    assert probes == {"readinessProbe": "/readyz", "livenessProbe": "/healthz"}
    service = named(objects, "Service", "gw-ciphermote")
    assert service["spec"]["selector"].items() <= labels.items()


@needs_helm
def test_the_charts_variables_are_options_of_serve(objects: list[dict[str, Any]]) -> None:
    for pod in pods(objects):
        (gateway,) = [each for each in pod["containers"] if each["name"] == "gateway"]
        given = {each["name"] for each in gateway["env"] if each["name"].startswith("CIPHERMOTE_")}
        assert len(given) > 4 and given <= variables()


@needs_helm
def test_the_network_policy_lets_in_and_out_what_is_used() -> None:
    (policy,) = of_kind(rendered(CHART / "ci" / "all-values.yaml"), "NetworkPolicy")
    spec = policy["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in spec["ingress"] for port in rule["ports"]} == {8443, 8883}
    out = {port["port"] for rule in spec["egress"] for port in rule["ports"]}
    assert out == {53, 443, 4318, 5432, 8883}
    least = of_kind(rendered(CHART / "ci" / "least-values.yaml"), "NetworkPolicy")[0]["spec"]
    assert {port["port"] for rule in least["egress"] for port in rule["ports"]} == {53, 443, 5432}
    off = ("--set", "networkPolicy.enabled=false")
    assert of_kind(rendered(CHART / "ci" / "all-values.yaml", *off), "NetworkPolicy") == []


@needs_helm
@pytest.mark.parametrize(
    "value",
    [
        *("database.host", "database.passwordSecret.name", "database.caSecret.name", "store.url"),
        *("tls.secretName", "wrapKeySecret.name", "broker.passwordSecret.name"),
    ],
)
def test_a_value_that_is_missing_is_named(value: str) -> None:
    values = CHART / "ci" / "all-values.yaml"
    options = ("--kube-version", KUBERNETES, "-f", values, "--set", f"{value}=")
    said = run(HELM, "template", "gw", CHART, *options, code=1)
    assert f"{value}: the " in said


@needs_helm
def test_the_keys_are_copied_for_their_owner_alone(tmp_path: Path) -> None:
    """The init container's own script, with its directories below another."""
    (pod, *_) = pods(rendered(CHART / "ci" / "least-values.yaml"))
    (keys,) = pod["initContainers"]
    script = re.sub(r"(?<![\w/])/(data|secrets|keys)\b", rf"{tmp_path}/\1", keys["command"][2])
    for name in ("secrets/database", "secrets/wrap-key", "data", "keys"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "secrets/database/password").write_text("with:colon\\and slash")
    (tmp_path / "secrets/wrap-key/wrap.key").write_bytes(bytes(range(32)))
    environment = {each["name"]: each["value"] for each in keys["env"]}
    path = {"PATH": "/usr/bin:/bin"}
    subprocess.run([*keys["command"][:2], script], env={**environment, **path}, check=True, timeout=30)
    pgpass, wrap_key = tmp_path / "keys/pgpass", tmp_path / "data/gateway/wrap.key"
    assert pgpass.read_text() == "db.example:5432:*:ciphermote:with\\:colon\\\\and slash\n"
    assert wrap_key.read_bytes() == bytes(range(32))
    assert {stat.S_IMODE(each.stat().st_mode) for each in (pgpass, wrap_key)} == {0o600}
