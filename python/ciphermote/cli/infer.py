# SPDX-License-Identifier: Apache-2.0
"""`ciphermote infer`: encrypted readings, scored with a linear model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ciphermote.base.errors import Error, ParameterError, about
from ciphermote.cli.console import note, progress_bar, say
from ciphermote.cli.files import check_not_given, check_target, ciphertext_of, read_ciphertext, write
from ciphermote.cli.options import BareOption, EngineOption, KeysArgument, ModulusOption, stated_scheme


def infer(
    keys: KeysArgument,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A linear model, .json (as above) or .npz.")],
    ciphertexts: Annotated[
        list[Path], typer.Argument(metavar="CIPHERTEXT", help="Readings from `ciphermote adapt`.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write; a directory if there are several readings."),
    ],
    workers: Annotated[
        int, typer.Option(min=1, help="How many threads or, with SEAL, processes compute.")
    ] = 1,
    feature_bound: Annotated[
        float | None,
        typer.Option(
            help="The largest |value| that any reading may hold, such as the sensor's full range (default: "
            "as each declares). Beyond it scores come out wrong; a generous bound costs little precision."
        ),
    ] = None,
    plain_modulus: ModulusOption = 0,
    bare: BareOption = False,
    engine_name: EngineOption = "native",
) -> None:
    """Score encrypted readings with a linear model, on ciphertexts only.

    **In:** the *public* part of the keys, a model, ciphertexts. **Out:** encrypted scores, in Microsoft
    SEAL's bytes with a label, for the owner alone to read. The secret key is neither needed nor read.
    Ciphertexts under another key are refused; scores of unlabelled readings (--bare) are unlabelled too.

    A model of 2 classes over 3 features, as .json (labels may be []; in Python, LinearModel.save also writes
    .npz):

    `{"format": "ciphermote-linear-model", "version": 1, "labels": ["rest", "walk"],
    "weights": [[0.5, -1.25, 2], [1, 0, -0.75]], "bias": [0.25, -0.5]}`

    Score c is bias[c] plus the sum of weights[c][i] times slot i of the reading: slots that the sender left
    out count as 0, and slots beyond the model's features are ignored. BFV takes models of integers, and
    readings in slots.

    Example:

        ciphermote infer keys-public model.json reading.ct -o score.ct \\
            --feature-bound 100
    """
    from ciphermote.ciphertext import Ciphertext
    from ciphermote.evaluate.evaluation_keys import EvaluationKeys
    from ciphermote.evaluate.linear_model import LinearModel
    from ciphermote.evaluate.linear_plans import check_feature_bound
    from ciphermote.formats.key_directory import GALOIS_FILE
    from ciphermote.owner.key_store import KeyStore

    bound = None if feature_bound is None else check_feature_bound(feature_bound)
    store = KeyStore.open(keys)
    if store.has_secret:
        note(
            f"{keys} holds the secret key: the machine that computes should have only the public part "
            "(`ciphermote keygen --public-to`)."
        )
    loaded = LinearModel.load(model)
    contents = [read_ciphertext(path) for path in ciphertexts]
    several = len(contents) > 1 or output.is_dir()
    names = [path.with_suffix(".ct").name for path in ciphertexts]
    if several and len(set(names)) != len(names):
        raise ParameterError(
            "Two readings have the same file name, and so would their scores: score them one by one."
        )
    kind = ciphertext_of(store.parameters)
    targets = [output / name if several else output for name in names]
    for target in targets:
        check_target(target, kind)
        check_not_given(target, ciphertexts)
    evaluation = EvaluationKeys(store.parameters, store.public_bytes(GALOIS_FILE))
    with about(ciphertexts[0]):
        first = Ciphertext.from_bytes(contents[0], store.parameters, stated_scheme(plain_modulus))
    with (
        progress_bar("Scoring") as progress,
        evaluation.engine(first.scheme, bare=bare, workers=workers, name=engine_name) as engine,
    ):
        if engine_name == "seal" and store.has_secret and "files" not in engine.confined:
            note(
                "this system has no Landlock, so nothing keeps the engine's processes from the secret key: a "
                "ciphertext that takes over SEAL could read it."
            )
        results = engine.linear_all([first, *contents[1:]], loaded, progress, feature_bound=bound)
    if several:
        output.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    for path, target, result in zip(ciphertexts, targets, results, strict=True):
        if isinstance(result, Error):
            failed.append(f"{path}: {result}")
        else:
            write(target, result.to_seal(), kind)
    if failed:
        more = f" ({len(failed) - 1} more failed.)" if len(failed) > 1 else ""
        raise Error(failed[0] + more)
    say(
        f"{len(results)} encrypted score{'s are' if len(results) > 1 else ' is'} in {output}, for the owner "
        "to decrypt."
    )
