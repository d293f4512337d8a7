// The tests of LearnerConformance. Include once per program.
#pragma once

#include "tests/conformance/learner_conformance_inputs.h"
#include "tests/conformance/learner_conformance_interruption.h"
#include "tests/conformance/learner_conformance_limits.h"
#include "tests/conformance/learner_conformance_memory.h"
#include "tests/conformance/learner_conformance_options.h"
#include "tests/conformance/learner_conformance_runs.h"
#include "tests/conformance/learner_conformance_units.h"
#include "tests/conformance/learner_conformance_work.h"
