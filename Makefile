# SPDX-License-Identifier: GPL-2.0
#
# The verbs a person types. Each is a script in scripts/ or tools/asap/; a line
# of help is the comment behind the target.

FLAVOUR ?= asap

.PHONY: help
help: ## list the verbs (this)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## real programs come back, on demand paging and with ASAP: a table and a picture
	@scripts/deps.sh
	@scripts/fetch.sh
	@scripts/sync.sh
	@tools/asap/demo/run.sh

.PHONY: test
test: ## run the tests; TESTS="host asap ..." picks some (scripts/run-tests.sh)
	@scripts/run-tests.sh $(TESTS)

.PHONY: check
check: ## what to run before a commit: the tests that boot nothing
	@scripts/run-tests.sh check

.PHONY: faultcost
faultcost: ## instructions of a page fault, on the stock kernel and on ours: out/faultcost/result.json
	@scripts/deps.sh
	@scripts/fetch.sh
	@scripts/sync.sh
	@tools/asap/faultcost/run.sh

.PHONY: bench-smaps
bench-smaps: ## smaps_rollup against smaps and the stock kernel: out/smaps/result.json
	@scripts/deps.sh
	@scripts/fetch.sh
	@scripts/sync.sh
	@tools/asap/bench-smaps/run.sh

.PHONY: kernel
kernel: ## build a kernel: FLAVOUR=asap (default), stock, off or debug
	@scripts/deps.sh
	@scripts/fetch.sh
	@scripts/sync.sh
	@scripts/build.sh $(FLAVOUR)

.PHONY: shell
shell: kernel ## boot that kernel to a prompt and play; "poweroff -f" leaves
	@scripts/shell.sh $(FLAVOUR)

.PHONY: apply
apply: ## apply the series to a Linux 6.12 tree: KERNEL=path
	@scripts/apply.sh $(if $(KERNEL),"$(KERNEL)",$(error say which tree: make apply KERNEL=path))

.PHONY: unapply
unapply: ## take the series out of a tree again: KERNEL=path
	@scripts/apply.sh --reverse $(if $(KERNEL),"$(KERNEL)",$(error say which tree: make unapply KERNEL=path))

.PHONY: series
series: ## the series as patches to mail, for git am and for quilt: out/series/
	@scripts/deps.sh
	@scripts/fetch.sh
	@scripts/series.sh

.PHONY: refresh
refresh: ## make every F.patch anew from an applied tree: KERNEL=path, FILES="new/files"
	@scripts/refresh.sh "$(KERNEL)" $(FILES)
