#!/usr/bin/env node
// Starts the program skl of this platform. It lies in a package of its own, which npm installs because of its fields
// "os" and "cpu"; nothing is downloaded or run at installation.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const known = Object.keys(require("../package.json").optionalDependencies);
const name = `@skl-project/skl-${platform}`;

// fail says what is wrong and what to do, and ends with the status of a failure.
function fail(message, hint) {
  console.error(`skl: ${message}`);
  console.error(`skl: hint: ${hint}`);
  process.exit(1);
}

// find returns the path of the program.
function find() {
  if (!known.includes(name)) {
    fail(
      `there is no program for ${platform}, only for ${known.map((k) => k.replace("@skl-project/skl-", "")).join(", ")}`,
      "go install github.com/skl-project/skl/cmd/skl@latest builds one",
    );
  }
  try {
    return require.resolve(`${name}/bin/skl${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    fail(
      `the package ${name} is not installed: npm leaves it out with --omit=optional, or if node_modules comes from another platform`,
      `npm install --include=optional @skl-project/skl@${require("../package.json").version}`,
    );
  }
}

const program = find();
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

child.on("error", (err) => fail(`${program} cannot be started: ${err.message}`, "npm install it again, or look at its permissions"));

// The console of Windows tells both processes of Ctrl-C; kill would end the program there without a word.
const signals = process.platform === "win32" ? [] : ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
for (const signal of signals) {
  process.on(signal, () => child.kill(signal));
}
if (process.platform === "win32") {
  process.on("SIGINT", () => {});
}

// The program's end is this one's: the same status, or the same signal.
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  for (const s of signals) {
    process.removeAllListeners(s);
  }
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100); // a signal that does not end node
});
