# `make` alone lists what there is. Each goal prepares the machine by itself (tools/setup.sh).
.DEFAULT_GOAL := help
DEMOS := PYTHONPATH=examples:ports/host .venv/bin/python -m demos
# Every goal that `help` lists, and what they share.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\# .*/\1/p' Makefile) setup-demo setup-uno setup-accelerator setup-test setup-rtl

help: ## list the goals
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup-demo ## an encrypted reading, end to end: a simulated Cortex-M4, an engine without a key, the owner
	@tools/quietly.sh build/demo-firmware.log "compiling the device's library" \
	    $(MAKE) --no-print-directory -C ports firmware
	.venv/bin/ciphermote demo

demo-uno: setup-uno ## eight simulated Arduino Unos encrypt demand curves, an engine adds them up without a key
	.venv/bin/python ports/arduino/demo/run.py

demo-client-aided: setup-demo ## a neural network in rounds: linear layers under encryption, ReLU on the Cortex-M4
	$(DEMOS) client-aided

test: lint test-c test-qemu test-avr test-python test-fuzz test-rtl ## what a change may break: these seven goals, minutes on two cores

test-all: ALL := 1
test-all: test test-configurations ## all that make test takes samples of: each C build, planted leak and bug, combination of options, slow test; hours

# make test-all, and ALL=1 with any goal, leave nothing out.
SAMPLE = $(if $(ALL),,--sample)
PYTEST = .venv/bin/python -m pytest -n 2 $(if $(ALL),,-m "not slow")

lint: setup-test ## formatting and static checks of C, Python and shell
	tools/lint.sh

test-c: setup-test ## the C tests: compilers, levels, sanitizers, one file, a back-end, constant time, planted leaks; a cover of the options
	tools/test_matrix.py $(SAMPLE)
	tools/test_leaks.py $(SAMPLE)
	.venv/bin/python tools/test_configurations.py $(SAMPLE)

test-qemu: setup-test ## the C tests on simulated Cortex-M0, M4 and M33 and RISC-V 32 cores; a sample of the options
	$(MAKE) --no-print-directory -C ports -j 2 --output-sync=target test-qemu
	.venv/bin/python tools/test_configurations.py --qemu

test-avr: setup-test ## the AVR back-end and the Arduino library on simulated Unos and Megas
	$(PYTEST) --dist loadfile tests/avr

test-python: setup-test ## the Python tests and the packaging tests
	tools/quietly.sh build/ports-firmware.log "compiling the ports" $(MAKE) --no-print-directory -C ports firmware
	$(PYTEST) --ignore tests/avr

test-fuzz: setup-test ## seconds of each fuzz target, and bugs planted for them to find
	.venv/bin/python tools/fuzz.py $(if $(ALL),,--seconds 3)
	.venv/bin/python tools/fuzz.py --planted $(SAMPLE)

test-rtl: setup-rtl ## the hardware: lint, every module in simulation, the engine at n = 4096
	$(MAKE) --no-print-directory -C rtl test ALL=$(ALL)

test-leaks: setup-test ## plant leaks of secrets in copies of the C library: the test of constant time finds each (minutes)
	tools/test_leaks.py

test-configurations: setup-test ## every combination of the C library's options: half an hour and more; goes on where it stopped
	.venv/bin/python tools/test_configurations.py --all

coverage: setup-test ## which lines the C and the Python tests reach: a report in build/coverage
	tools/coverage.sh

fuzz: setup-test ## the fuzz targets for longer: make fuzz MINUTES=60
	.venv/bin/python tools/fuzz.py --minutes $(or $(MINUTES),10)

bench-m4: setup-demo ## cycles, RAM and flash of an encryption on a Cortex-M4, and that no secret changes them
	.venv/bin/python bench/m4/run.py

bench-m4-options: setup-demo ## what each option costs and buys there (minutes)
	.venv/bin/python bench/m4/options.py

bench-client: setup-demo ## cycles and RAM of all that a client does there, encryption and decryption, by phase
	.venv/bin/python bench/m4/client.py

bench-microbit: setup-demo ## flash and RAM of the micro:bit's firmware
	.venv/bin/python bench/microbit.py

bench-rtl: setup-rtl ## cycles of the hardware, from simulation
	.venv/bin/python bench/rtl/cycles.py

rtl-synth: setup-rtl ## area of the hardware on three FPGA families, and its clock on one: about half an hour
	.venv/bin/python bench/rtl/synthesis.py

demo-accelerator: setup-accelerator ## encryption with the simulated hardware and without: the same bytes, and the time of each step
	build/rtl-venv/bin/python rtl/tools/demo.py

bench-demos: demo demo-client-aided demo-uno ## the demos, and what they print kept as figures
	cp build/demo/demo.json bench/results/demo.json
	cp build/demo-client-aided/demo.json bench/results/demo-client-aided.json
	cp build/demo-uno/demo.json bench/results/demo-uno.json

bench-check: setup-test setup-rtl ## fresh runs of the benches against the figures that are committed (half an hour)
	.venv/bin/python tools/check_benches.py

plots: setup-demo ## the tables and plots of docs/performance.md and the READMEs, from the benches' results
	.venv/bin/python tools/generate_performance.py

bench-avr: setup-uno ## cycles, RAM and flash on an Arduino Uno and a Mega, and that no secret changes them
	.venv/bin/python bench/avr/run.py

format: setup-test ## format C and Python files in place
	tools/lint.sh --fix

install: ## install the C library: make install PREFIX=/usr/local
	cmake -S . -B build/release -DCIPHERMOTE_BUILD_TESTS=OFF
	cmake --build build/release
	cmake --install build/release --prefix $(or $(PREFIX),/usr/local)

arduino-library: ## put the Arduino library together: build/arduino/Ciphermote
	tools/arduino_library.py

one-file: ## write the one-file build to build/one-file
	tools/amalgamate.py

lock: ## resolve the Python dependencies afresh into requirements/lock.txt
	tools/lock_requirements.sh

clean: ## remove everything that was built, the virtual environment included
	rm -rf build .venv

setup-demo:
	@tools/setup.sh demo

setup-uno:
	@tools/setup.sh uno

setup-accelerator:
	@tools/setup.sh accelerator

setup-test:
	@tools/setup.sh test

setup-rtl:
	@tools/setup.sh rtl
