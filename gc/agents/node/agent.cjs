// SPDX-License-Identifier: BSD-2-Clause
// agent.cjs: switches on V8's allocation sampler in each thread of a Node.js program.
'use strict';

// The recorder says in which programs the sampler is off: nothing is printed here.
try {
  const { Session } = require('inspector');
  const session = new Session();
  session.connect();
  // V8 also walks a stack of its own at each sample. gcprof does not need it.
  session.post('HeapProfiler.startSampling', {
    samplingInterval: Number(process.env.GCPROF_PERIOD) || 512 * 1024,
    stackDepth: 1,
  });
  module.exports = session;
} catch {}
