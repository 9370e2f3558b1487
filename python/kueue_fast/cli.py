"""The command `kueue-fast`.

What a command needs is imported inside it, so that `--help` answers at once. Exit codes: 0 fine,
1 `conformance` found a difference or `controller` failed, 2 the input or the command line cannot be used,
130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from kueue_fast.errors import KueueFastError

if TYPE_CHECKING:
    from kueue_fast.api.configuration import Configuration
    from kueue_fast.model.features import FeatureGates
    from kueue_fast.sim.manifest import Manifest
    from kueue_fast.sim.result import SimulationResult

__all__ = ["cli", "main"]

BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""As a shell reports a program that SIGPIPE ended."""


class _Commands(click.Group):
    """The commands, with what a user did wrong told in words instead of a traceback."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            raise _reader_gone() from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KueueFastError as error:
            for line in _error_lines(error):
                click.echo(line, err=True)
            ctx.exit(BAD_INPUT)
        except BrokenPipeError:
            raise _reader_gone() from None


def _reader_gone() -> click.exceptions.Exit:
    """Ends the command quietly where nobody reads on (`| head`); click would call it a failure."""
    _drop_output()
    return click.exceptions.Exit(BROKEN_PIPE)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="kueue-fast", prog_name="kueue-fast", message="%(prog)s %(version)s")
def cli() -> None:
    """Kueue's scheduling decisions, exactly, on manifests."""


def _duration(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Nanoseconds of a duration on the command line."""
    if value is None:
        return None
    from kueue_fast.api.configuration import parse_duration

    try:
        duration = parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, parameter) from None
    if duration < 0:
        raise click.BadParameter(f"{value!r} is negative", ctx, parameter)
    return duration


def _writable(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A file that can be written, as far as that can be told before a long run."""
    if value is not None:
        folder = os.path.dirname(value) or "."
        if os.path.isdir(value):
            raise click.BadParameter(f"{value!r} is a directory", ctx, parameter)
        if not os.path.isdir(folder):
            raise click.BadParameter(f"the directory {folder!r} does not exist", ctx, parameter)
    return value


_nodes_option: Final = click.option(
    "--nodes",
    "nodes",
    metavar="'[FLAVOR:]SHAPE RESOURCES'",
    multiple=True,
    help="Add equal nodes for a flavor with a Topology, such as '4x16x32 cpu=96,memory=256Gi,nvidia.com/gpu=8': "
    "4 blocks of 16 racks of 32 hosts. May be repeated.",
)


@cli.command(short_help="Run manifests on a virtual clock.")
@click.option(
    "-f",
    "--filename",
    "filenames",
    metavar="FILE_OR_DIR...",
    multiple=True,
    required=True,
    help="Manifests: files, directories (read recursively), or - for standard input. May be repeated.",
)
@click.argument("more", metavar="[FILE_OR_DIR]...", nargs=-1)
@click.option(
    "--until",
    metavar="DURATION",
    callback=_duration,
    help="Stop after this time on the virtual clock, such as 2h.",
)
@_nodes_option
@click.option("--config", metavar="FILE", help="Kueue's Configuration, v1beta1 or v1beta2.")
@click.option("--feature-gates", metavar="A=true,B=false", default="", help="Kueue's feature gates.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--events", is_flag=True, help="Print what happened, event by event.")
@click.option(
    "--report",
    metavar="FILE",
    callback=_writable,
    help="Write a page (HTML) with tables, use over time, and a picture of who sits where in topologies.",
)
def simulate(
    filenames: Sequence[str],
    more: Sequence[str],
    until: int | None,
    nodes: Sequence[str],
    config: str | None,
    feature_gates: str,
    as_json: bool,
    events: bool,
    report: str | None,
) -> None:
    """Run manifests on a virtual clock and tell what Kueue would do with them.

    Takes what you would `kubectl apply`: queues, flavors, topologies, Workloads and batch/v1 Jobs, and what a cluster
    has of Nodes and other Pods, as YAML or JSON, and generator files of Kueue's performance runner. Annotations say
    when an object is created, how its job ends, and when a node fails:

    \b
      sim.kueue-fast.dev/arrival       after the start, such as 90s, or at a time (RFC 3339)
      sim.kueue-fast.dev/run-time      how long the job runs; without it, for ever
      sim.kueue-fast.dev/failure       "true": the job fails
      sim.kueue-fast.dev/grace-period  how long its pods go on when it is evicted; without it, not at all
      sim.kueue-fast.dev/fails-at      when a Node is not ready any more; times as for the arrival, with commas
      sim.kueue-fast.dev/recovers-at   when it is ready again
    """  # noqa: D301 (click's mark for lines that are not to be rewrapped)
    configuration, gates, manifests = _read_input([*filenames, *more], nodes, config, feature_gates)

    # The rest is slower to import, and in vain where the input is wrong.
    from kueue_fast.sim.json_report import to_json
    from kueue_fast.sim.options import SimulationOptions
    from kueue_fast.sim.progress import progress_bar
    from kueue_fast.sim.report import print_report
    from kueue_fast.sim.simulate import simulate as run

    for warning in gates.warnings:
        click.echo(f"warning: {warning}", err=True)
    with progress_bar() as progress:
        options = SimulationOptions(
            until_ns=until,
            configuration=configuration,
            feature_gates=gates.overridden(),
            events=events,
            history=report is not None,
            progress=progress,
        )
        result = run(manifests, options)
    if report is not None:
        _write_report(result, report)
    if as_json:
        click.echo(to_json(result), nl=False)
    else:
        print_report(result, sys.stdout)


def _read_input(
    files: Sequence[str], nodes: Sequence[str], config: str | None, feature_gates: str
) -> tuple[Configuration | None, FeatureGates, Sequence[Manifest]]:
    """Configuration, gates and manifests of a run. Raises KueueFastError for what cannot be used."""
    from kueue_fast.model.features import load_feature_gates
    from kueue_fast.sim.manifests import load

    configuration = None if config is None else _configuration(config)
    gates = load_feature_gates(feature_gates, None if configuration is None else configuration.feature_gates)
    if config is not None and configuration is not None:
        _check_configuration(configuration, gates, config)
    manifests: Sequence[Manifest] = load(files, gates)
    if nodes:
        from kueue_fast.sim.nodes import add_nodes

        manifests = add_nodes(nodes, manifests)
    return configuration, gates, manifests


def _write_report(result: SimulationResult, file: str) -> None:
    from kueue_fast.errors import InputError
    from kueue_fast.sim.html_report import to_html

    page = to_html(result)
    try:
        with open(file, "wb") as stream:
            stream.write(page)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot be written: {reason}", file=file) from None


def _configuration(file: str) -> Configuration:
    from kueue_fast.api.configuration import load_configuration
    from kueue_fast.errors import InputError

    try:
        with open(file, "rb") as stream:
            data = stream.read()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot be read: {reason}", file=file) from None
    return load_configuration(data, file)


def _check_configuration(configuration: Configuration, gates: FeatureGates, file: str) -> None:
    """Raises ManifestErrors, one entry for each value that Kueue would refuse to start with."""
    from kueue_fast.model.config_validation import validate_configuration
    from kueue_fast.sim.manifest import ErrorCollector
    from kueue_fast.sim.manifests import field_error

    errors = ErrorCollector()
    for problem in validate_configuration(configuration, gates):
        errors.add(field_error(problem).located(file=file, object="Configuration"))
    errors.raise_if_any()


@cli.command(short_help="Say why an object waits, or what it got.")
@click.option(
    "-f",
    "--filename",
    "filenames",
    metavar="FILE_OR_DIR",
    multiple=True,
    required=True,
    help="Manifests: files, directories (read recursively), or - for standard input. May be repeated.",
)
@click.argument("target", metavar="KIND/NAMESPACE/NAME")
@click.option(
    "--at",
    metavar="DURATION",
    callback=_duration,
    help="At this time on the virtual clock, such as 10m; else the end.",
)
@_nodes_option
@click.option("--config", metavar="FILE", help="Kueue's Configuration, v1beta1 or v1beta2.")
@click.option("--feature-gates", metavar="A=true,B=false", default="", help="Kueue's feature gates.")
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(
    filenames: Sequence[str],
    target: str,
    at: int | None,
    nodes: Sequence[str],
    config: str | None,
    feature_gates: str,
    as_json: bool,
) -> None:
    """Run manifests on a virtual clock up to a moment, and say why a job or Workload waits then, or what it got.

    Takes what `simulate` takes. The object is named like Job/team-a/train or rayjobs.ray.io/team-a/tune: a Workload, a
    job of any kind, one of its pods, or a group of pods (podgroup/team-a/ingest). What belongs to a job, such as the
    RayCluster of a RayJob, is explained by the Workload of that job.
    """
    from kueue_fast.sim.explain import explain as run
    from kueue_fast.sim.explain import read_target
    from kueue_fast.sim.explain_text import print_explanation
    from kueue_fast.sim.explanation import to_json
    from kueue_fast.sim.options import SimulationOptions
    from kueue_fast.sim.progress import progress_bar

    asked = read_target(target)
    configuration, gates, manifests = _read_input(filenames, nodes, config, feature_gates)
    for warning in gates.warnings:
        click.echo(f"warning: {warning}", err=True)
    with progress_bar() as progress:
        options = SimulationOptions(
            until_ns=at, configuration=configuration, feature_gates=gates.overridden(), progress=progress
        )
        document = run(manifests, asked, options)
    if as_json:
        click.echo(to_json(document), nl=False)
    else:
        print_explanation(document, sys.stdout)


@cli.command(short_help="Replay recorded scenarios and compare.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--print", "print_only", is_flag=True, help="Write what is decided, one JSON line a scenario.")
def conformance(files: Sequence[str], print_only: bool) -> NoReturn:
    """Replay recorded scenarios (.jsonl or .jsonl.gz) and compare with what Kueue decided.

    One line a family with matched/total, the first difference of each scenario that failed; the exit code is
    1 if any did. Scenarios that need what is not built yet count as unsupported.
    """
    from kueue_fast.sim.conformance_report import run_conformance

    code = run_conformance(files, print_only, sys.stdout)
    click.get_current_context().exit(code)


@cli.command(short_help="Decide on a live cluster.")
@click.option(
    "--kubeconfig", metavar="FILE", help="Else KUBECONFIG, the service account of a pod, ~/.kube/config."
)
@click.option("--config", metavar="FILE", help="Kueue's Configuration, v1beta1 or v1beta2.")
@click.option("--feature-gates", metavar="A=true,B=false", default="", help="Kueue's feature gates.")
@click.option(
    "--shadow", is_flag=True, help="Only say what would be done; needs no Lease and writes nothing."
)
@click.option("--debug", is_flag=True, help="Log more.")
def controller(
    kubeconfig: str | None, config: str | None, feature_gates: str, shadow: bool, debug: bool
) -> NoReturn:
    """Decide on a live cluster, beside an installation of Kueue whose Lease it takes.

    Kueue's own Pods go on serving webhooks, and decide again when this one stops. Logs are JSON on standard error.
    The exit code is 0 after SIGINT or SIGTERM, and 1 when it could not start, lost the Lease, or failed.
    """
    context = click.get_current_context()
    try:
        code = _run_controller(kubeconfig, config, feature_gates, shadow, debug)
    except KueueFastError as error:
        for line in _error_lines(error):
            click.echo(line, err=True)
        code = 1
    context.exit(code)


def _run_controller(
    kubeconfig: str | None, config: str | None, feature_gates: str, shadow: bool, debug: bool
) -> int:
    from kueue_fast.api.configuration import default_configuration
    from kueue_fast.errors import InputError
    from kueue_fast.model.features import load_feature_gates

    try:
        from kueue_fast.app.run import run_process
        from kueue_fast.app.settings import ControllerSettings
    except ModuleNotFoundError as missing:
        raise InputError(
            f"the package {missing.name} is missing", expected="pip install 'kueue-fast[live]'"
        ) from None
    configuration = default_configuration() if config is None else _configuration(config)
    gates = load_feature_gates(feature_gates, configuration.feature_gates)
    if config is not None:
        _check_configuration(configuration, gates, config)
    for warning in gates.warnings:
        click.echo(f"warning: {warning}", err=True)
    settings = ControllerSettings(
        configuration=configuration,
        feature_gates=gates.overridden(),
        kubeconfig=kubeconfig,
        shadow=shadow,
    )
    return run_process(settings, debug=debug)


def _error_lines(error: KueueFastError) -> list[str]:
    """One line for each thing that is wrong, and one for what was left out."""
    errors = getattr(error, "errors", (error,))
    lines = [f"error: {each}" for each in errors]
    omitted = getattr(error, "omitted", 0)
    return [*lines, f"and {omitted} more"] if omitted else lines


def _drop_output() -> None:
    """Standard output goes nowhere from now on, so that Python's own flush at the end does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code; `arguments` are those of the process if None."""
    try:
        code = cli.main(args=arguments, prog_name="kueue-fast", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except OSError as error:
        # The last of the output could not be written: nobody reads on, or the disk is full.
        _drop_output()
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        click.echo(f"error: standard output: {error.strerror or error}", err=True)
        return BAD_INPUT
    return code if isinstance(code, int) else 0


def main() -> NoReturn:
    """Entry of the console script."""
    sys.exit(run())
