# SPDX-License-Identifier: Apache-2.0
# `make` alone lists the goals. Each goal prepares the machine by itself (tools/setup.sh).
.DEFAULT_GOAL := help
DEMOS := PYTHONPATH=examples:ports/host .venv/bin/python -m demos
# All goals: none of them is a file.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' Makefile)

## list the goals
help:
	@awk -F : '/^## / { says = substr($$0, 4) } \
	    /^[a-z0-9-]+:/ && says { printf "make %-20s %s\n", $$1, says; says = "" }' $(MAKEFILE_LIST)

## an encrypted reading, end to end: a simulated Cortex-M4, an engine without a key, the owner
demo: setup-demo
	@tools/quietly.sh build/demo-firmware.log "compiling the device's library" \
	    $(MAKE) --no-print-directory -C ports firmware
	@$(DEMOS) smartwatch

## eight simulated Arduino Unos encrypt demand curves, an engine adds them up without a key
demo-uno: setup-uno
	.venv/bin/python ports/arduino/demo/run.py

## a neural network in rounds: linear layers under encryption, ReLU on the Cortex-M4
demo-client-aided: setup-demo
	@$(DEMOS) client-aided

## thirty simulated meters send a day in packets that LoRaWAN takes, an engine adds up what came without a key
demo-lorawan: setup-uno
	.venv/bin/python ports/attiny85/demo/run.py

## twenty simulated devices stream to a gateway that is killed meanwhile: make demo-fleet SECONDS=60
demo-fleet: setup-fleet
	@$(DEMOS) fleet $(or $(SECONDS),60)

## fifty devices, two gateways, PostgreSQL, S3 and Ray, each killed meanwhile: make demo-cluster SECONDS=60
demo-cluster: setup-test versitygw
	@$(DEMOS) cluster $(or $(SECONDS),60)

## what a change may break, in minutes on two cores: lint and the six goals test-c to test-rtl
test: lint test-c test-qemu test-avr test-python test-fuzz test-rtl

## the same without sampling: all C builds, leaks, bugs, options and slow tests (hours)
test-all: ALL := 1
test-all: test test-configurations rtl-mutation

# make test-all, and ALL=1 with any goal, sample nothing.
SAMPLE = $(if $(ALL),,--sample)
QEMU_TESTS = $(if $(ALL),test-qemu,test-qemu-m4 test-qemu-riscv32)
PYTEST = .venv/bin/python -m pytest -n 2 $(if $(ALL),,-m "not slow")

# One file or two for each room of the package: the contracts that other files stand on.
QUICK_PYTHON = $(addprefix tests/python/test_,$(addsuffix .py,api arguments ciphertext parameters labels \
    seal_bytes adapter frame_finder golden evaluator_class bounds compact_keys cli_steps)) \
    $(addprefix tests/gateway/test_,$(addsuffix .py,idempotency migrations openapi))
QUICK_RTL = test_arithmetic.py test_client_shake.py test_core_file.py test_figures.py

## what a change of Python, C or RTL needs before it is committed: lint and the nearest tests, in 3 minutes
quick: lint
	cmake --preset release >/dev/null
	cmake --build --preset release -- --quiet
	ctest --preset release --output-on-failure --parallel 2
	$(PYTEST) $(QUICK_PYTHON)
	$(if $(wildcard build/rtl-venv/bin/python),\
	    $(MAKE) --no-print-directory -C rtl quick QUICK="$(QUICK_RTL)",\
	    @echo "The hardware is left out: make setup-rtl installs its tools.")

## formatting and static checks of C, Python and shell
lint: setup-test
	tools/lint.sh

## the C tests: compilers, levels, sanitizers, one file, back-ends, constant time, planted leaks, options
test-c: setup-test
	tools/test_matrix.py $(SAMPLE)
	tools/test_leaks.py $(SAMPLE)
	.venv/bin/python tools/test_configurations.py $(SAMPLE)

## the C tests on a simulated Cortex-M4 and RISC-V 32; ALL=1: on M0, M33 and M55 too; a sample of the options
test-qemu: setup-test
	$(MAKE) --no-print-directory -C ports -j 2 --output-sync=target $(QEMU_TESTS)
	.venv/bin/python tools/test_configurations.py --qemu $(SAMPLE)

## the AVR back-end and the Arduino library on simulated Unos and Megas
test-avr: setup-test
	$(PYTEST) --dist loadfile tests/avr

## the Python tests and the packaging tests
test-python: setup-test
	@tools/quietly.sh build/ports-firmware.log "compiling the ports" \
	    $(MAKE) --no-print-directory -C ports firmware netfirmware-libraries
	$(PYTEST) --ignore tests/avr

## each fuzz target for seconds, and planted bugs for them to find
test-fuzz: setup-test
	.venv/bin/python tools/fuzz.py $(if $(ALL),,--seconds 3)
	.venv/bin/python tools/fuzz.py --planted $(SAMPLE)

## the hardware: lint, every module and the named configurations in simulation, proofs
test-rtl: setup-rtl
	$(MAKE) --no-print-directory -C rtl test ALL=$(ALL)

## plant faults in copies of the hardware: a test or a proof finds each (minutes)
rtl-mutation: setup-rtl
	build/rtl-venv/bin/python rtl/tools/mutate.py

## plant leaks of secrets in copies of the C library: the constant-time test finds each (minutes)
test-leaks: setup-test
	tools/test_leaks.py

## every combination of the C library's options: half an hour or more; resumes where it stopped
test-configurations: setup-test
	.venv/bin/python tools/test_configurations.py --all

## which lines the C and Python tests reach: reports in build/coverage
coverage: setup-test
	tools/coverage.sh

## the fuzz targets for longer: make fuzz MINUTES=60
fuzz: setup-test
	.venv/bin/python tools/fuzz.py --minutes $(or $(MINUTES),10)

## kill the gateway, its workers and its broker at random under load, and count windows: make chaos KILLS=100
chaos: setup-test
	.venv/bin/python tests/gateway/chaos.py --kills $(or $(KILLS),100)

## hurt a cluster of gateways at random under load, and count windows: make chaos-cluster KILLS=200
chaos-cluster: setup-test versitygw
	.venv/bin/python tests/gateway/chaos_cluster.py --kills $(or $(KILLS),200)

## versitygw, an S3 server for the tests, of its Go module (needs Go 1.25 or later)
versitygw: build/versitygw/versitygw

build/versitygw/versitygw:
	@command -v go >/dev/null || { echo "Install Go 1.25 or later first."; exit 1; }
	GOBIN=$(CURDIR)/build/versitygw go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

## helm and compose-spec, which check deploy/, of their Go modules (needs Go 1.25 or later; minutes)
deploy-tools: build/helm/helm build/compose-spec/cmd

build/helm/helm:
	@command -v go >/dev/null || { echo "Install Go 1.25 or later first."; exit 1; }
	GOBIN=$(CURDIR)/build/helm go install helm.sh/helm/v3/cmd/helm@v3.19.4

build/compose-spec/cmd:
	@command -v go >/dev/null || { echo "Install Go 1.25 or later first."; exit 1; }
	GOBIN=$(CURDIR)/build/compose-spec go install github.com/compose-spec/compose-go/v2/cmd@v2.9.1

## the Helm chart, the compose files and the alerts in deploy/
test-deploy: setup-test deploy-tools
	$(PYTEST) tests/gateway/test_deploy.py tests/gateway/test_monitoring.py

## the gateway's stores on two S3 servers, moto and versitygw
test-stores: setup-test versitygw
	$(PYTEST) tests/gateway/test_stores.py tests/gateway/test_object_store.py

## cycles, RAM and flash of an encryption on a Cortex-M4; checks that no secret changes them
bench-m4: setup-demo
	.venv/bin/python bench/m4/run.py

## what each option costs and buys on a Cortex-M4 (minutes)
bench-m4-options: setup-demo
	.venv/bin/python bench/m4/options.py

## cycles and RAM of encryption and decryption on a Cortex-M4, by phase
bench-client: setup-demo
	.venv/bin/python bench/m4/client.py

## instructions, flash and RAM on RISC-V and on Cortex-M0 and M55 (minutes)
bench-cores: setup-test
	.venv/bin/python bench/m4/cores.py

## the compact lane: bytes on the wire, cycles and memory on an ATtiny85, an Uno and a Cortex-M4
bench-compact: setup-test
	.venv/bin/python bench/compact.py

## the gateway: deliveries beside raw, memory, and a job's sum beside the evaluator (10 minutes; ONLY=mqtt)
bench-gateway: setup-test
	.venv/bin/python bench/gateway/run.py $(addprefix --only ,$(ONLY)) $(addprefix --turns ,$(TURNS))

## what a window costs a gateway's database and object store: bytes, log, objects, processor time (3 minutes)
bench-capacity: setup-test
	.venv/bin/python bench/gateway/capacity.py

## how fast a gateway's data move to PostgreSQL and an object store, and back (2 minutes)
bench-migrate: setup-test
	.venv/bin/python bench/gateway/migrate.py

## how often decrypted values are off by more than is stated: 500 fresh keys of each kind (5 minutes)
bench-errors: setup-test
	.venv/bin/python bench/errors.py

## what Python adds to the native calls under it: ciphertexts loaded, computed on and decrypted (a minute)
bench-python: setup-test
	.venv/bin/python bench/python.py

## every operation and memory beside an installed SEAL, or several that CMAKE_PREFIX_PATH names (15 minutes)
bench-evaluator: setup-demo
	.venv/bin/python bench/evaluator/run.py
	.venv/bin/python bench/evaluator/peers_memory.py

## its instructions on 32-bit and 64-bit ARM beside those of SEALs for both, which CMAKE_PREFIX_PATH names
bench-evaluator-arm: setup-test
	.venv/bin/python bench/evaluator/arm.py

## firmware that delivers by itself: its flash and RAM, cycles of a TLS handshake and of a window (a minute)
bench-netfirmware: setup-test
	.venv/bin/python bench/netfirmware.py

## flash and RAM of the micro:bit's firmware
bench-microbit: setup-demo
	.venv/bin/python bench/microbit.py

## cycles of the hardware, from simulation
bench-rtl: setup-rtl
	.venv/bin/python bench/rtl/cycles.py
	.venv/bin/python bench/rtl/client.py

## SEAL over the simulated accelerator: an installed static one, which CMAKE_PREFIX_PATH names (5 minutes)
bench-seal-offload: setup-rtl
	.venv/bin/python bench/rtl/seal.py

## the evaluator's operations on the simulated hardware beside the processor's (10 minutes)
bench-rtl-evaluator: setup-rtl
	.venv/bin/python bench/rtl/evaluator.py

## for which sizes, streams and clocks that hardware is as fast as one core (1 minute)
bench-break-even: setup-demo
	.venv/bin/python bench/rtl/break_even.py

## area of the hardware on three FPGA families, and its clock on one (half an hour)
rtl-synth: setup-rtl
	.venv/bin/python bench/rtl/synthesis.py

## a whole client engine placed and routed on an ECP5-85, to its bitstream (an hour of one core)
rtl-route: setup-rtl
	.venv/bin/python bench/rtl/route.py

## its area, slack and energy on the open library IHP SG13G2 in the folder CIPHERMOTE_PDK (half an hour)
bench-asic: setup-rtl
	.venv/bin/python bench/rtl/area_energy.py
	.venv/bin/python bench/rtl/client_energy.py

## encryption with the simulated hardware and without: the same bytes, and the time of each step
demo-accelerator: setup-accelerator
	build/rtl-venv/bin/python rtl/tools/demo.py

## firmware on a simulated RISC-V chip encrypts readings with the client engine and without
demo-client-engine: setup-rtl
	build/rtl-venv/bin/python rtl/tools/client_demo.py

## run the demos, and keep their figures in bench/results
bench-demos: demo demo-client-aided demo-uno demo-lorawan demo-fleet
	cp build/demo/demo.json bench/results/demo.json
	cp build/demo-client-aided/demo.json bench/results/demo-client-aided.json
	cp build/demo-uno/demo.json bench/results/demo-uno.json
	cp build/demo-lorawan/demo.json bench/results/demo-lorawan.json
	cp build/demo-fleet/demo.json bench/results/demo-fleet.json

## compare new runs of the benches with the committed figures (half an hour)
bench-check: setup-test setup-rtl
	.venv/bin/python tools/check_benches.py

## the tables and plots of docs/performance.md and the READMEs, from the benches' results
plots: setup-demo
	.venv/bin/python tools/generate_performance.py

## cycles, RAM and flash on an Arduino Uno and a Mega; checks that no secret changes them
bench-avr: setup-uno
	.venv/bin/python bench/avr/run.py

## format C and Python files in place
format: setup-test
	tools/lint.sh --fix

## install the C library: make install PREFIX=/usr/local
install:
	cmake -S . -B build/release -DCIPHERMOTE_BUILD_TESTS=OFF
	cmake --build build/release
	cmake --install build/release --prefix $(or $(PREFIX),/usr/local)

## assemble the Arduino library: build/arduino/Ciphermote
arduino-library:
	tools/arduino_library.py

## write the one-file build to build/one-file
one-file:
	tools/amalgamate.py

## resolve the Python dependencies again into requirements/
lock:
	tools/lock_requirements.sh

## remove everything that was built, the virtual environment included
clean:
	rm -rf build .venv

setup-demo:
	@tools/setup.sh demo

setup-uno:
	@tools/setup.sh uno

setup-fleet:
	@tools/setup.sh fleet

setup-accelerator:
	@tools/setup.sh accelerator

setup-test:
	@tools/setup.sh test

setup-rtl:
	@tools/setup.sh rtl
