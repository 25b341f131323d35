// Serving one build until it is asked to stop: everything is read and checked first, then the data folder is locked,
// then workerd is started under supervision. The lock is released last.
import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../util/errors.ts";
import { ALARM_LIMITS_VARIABLE, type AlarmLimits } from "../../host/process-alarms.ts";
import { requireFreeAddress } from "./address-check.ts";
import { levelAlarms } from "./alarm-files.ts";
import { alarmLimits, fewFilesWarning, limitsText, openFileLimit, StartLimits } from "./alarm-limits.ts";
import { type Build, type BuildOptions, readBuild } from "./build.ts";
import { checkObjectClasses, exportedClasses } from "./exported-classes.ts";
import { lockDataFolder } from "./data-lock.ts";
import { serveErrors } from "./errors.ts";
import { isAnswering, reachableHost } from "./health-check.ts";
import { keepLastDeath, readLastDeath } from "./last-death.ts";
import type { Log } from "./log.ts";
import { Plug } from "./plug.ts";
import { writeRunFolder } from "./run-folder.ts";
import { type StopSignals, supervise } from "./supervisor.ts";
import { findLostCommits, forgetOpenLogs, listOpenLogs, lostCommitsWarning } from "./wal-check.ts";
import { ServedStudio } from "../studio/studio-command.ts";
import { withVariables } from "./variables.ts";
import { findWorkerd } from "./workerd-binary.ts";
import type { Binding } from "./worker-manifest.ts";
import { ASSETS_SERVICE, DATA_SERVICE, secretEnvironment, secretVariable } from "./workerd-config.ts";
import { hostAndPort, launchWorkerd, type LaunchOptions } from "./workerd-process.ts";

export interface ServeArguments extends BuildOptions {
  host: string;
  port: number;
  data: string;
  /** Variables of the environment the Worker gets. */
  variables: readonly string[];
  variableFile?: string;
  allowsPrivateNetwork: boolean;
  /**
   * Present when the address is this machine's own: the host names it answers to beside this machine's own, in lower
   * case.
   */
  allowedHosts?: readonly string[];
  /** Pages on this machine may kill workerd, to see what happens. */
  hasPlug: boolean;
  /** Studio beside it, on this machine only. */
  studio?: "read" | "write";
  healthTimeoutMs: number;
  /** How long the body of a request may be silent. */
  bodySilenceMs: number;
  graceMs: number;
}

export interface ServeEnvironment {
  workingFolder: string;
  variables: Readonly<Record<string, string | undefined>>;
  /** The built file of front/worker.ts. */
  frontWorker: string;
  /** The built page of Studio. */
  studioFolder: string;
  log: Log;
  signals: StopSignals;
}

/** Returns when it was stopped. Throws a ServeError when it cannot serve (any more). */
export async function serve(options: ServeArguments, environment: ServeEnvironment): Promise<void> {
  const { workingFolder, log, signals } = environment;
  if (process.platform === "win32") throw serveErrors.PlatformError();
  const build = readBuild(options, workingFolder);
  const dataFolder = resolve(workingFolder, options.data);
  if (`${dataFolder}${sep}`.startsWith(`${build.assetFolder}${sep}`)) {
    throw serveErrors.DataFolderError(dataFolder, "it lies among the assets, where everybody could read it");
  }
  const declared = withVariables(build.manifest, {
    file: readVariableFile(options, build, workingFolder),
    environment: environment.variables,
    names: options.variables
  });
  const openFiles = openFileLimit();
  const limits = alarmLimits(openFiles);
  const given = withAlarmLimits(withFrozenBinding(declared), limits);
  const studio =
    options.studio &&
    new ServedStudio({
      bindings: given,
      canWrite: options.studio === "write",
      classes: build.manifest.objects.map(({ className, key }) => ({ className, folder: join(dataFolder, key) }))
    });
  const bindings = studio?.bindings ?? given;
  const binary = findWorkerd([workingFolder, build.folder]);
  await requireFreeAddress(options.host, options.port);
  // A wrangler.json names its classes; on the command line they can be mistyped or left out.
  const classes = build.hasConfig ? undefined : await exportedClasses({ build, bindings, binary });
  const { warning } = classes ? checkObjectClasses(options.objects, classes) : {};
  // workerd inherits it: what it and this process write is for their user only.
  process.umask(0o077);
  const lock = await lockDataFolder(dataFolder);
  let plug: Plug | undefined;
  try {
    if (options.hasPlug) plug = await Plug.open();
    warnOfLostCommits(dataFolder, log);
    const warnings = [...build.manifest.warnings, warning, fewFilesWarning(openFiles)];
    for (const one of warnings) if (one !== undefined) log.warn(one);
    const launch: LaunchOptions = {
      binary,
      configFile: writeRunFolder(dataFolder, {
        build,
        bindings,
        frontWorker: environment.frontWorker,
        allowsPrivateNetwork: options.allowsPrivateNetwork,
        bodySilenceMs: options.bodySilenceMs,
        plugSocket: plug?.socketPath,
        allowedHosts: options.allowedHosts
      }),
      host: options.host,
      port: options.port,
      folders: {
        [DATA_SERVICE]: dataFolder,
        ...(build.assetFolder === undefined ? {} : { [ASSETS_SERVICE]: build.assetFolder })
      },
      environment: secretEnvironment(bindings),
      heldDescriptor: lock.descriptor,
      dataFolder,
      scratchDirectory: plug?.folder
    };
    await keepRunning({ options, environment, launch, plug, studio, limits, openFiles });
    listOpenLogs(dataFolder);
    if (signals.stop.aborted) log.say("Stopped.");
  } finally {
    await studio?.close();
    plug?.close();
    lock.release();
  }
}

/** Once per start, before workerd opens anything: afterwards nothing is left to tell it from. */
function warnOfLostCommits(dataFolder: string, log: Log): void {
  const warning = lostCommitsWarning(dataFolder, findLostCommits(dataFolder));
  if (warning !== undefined) log.warn(warning);
  forgetOpenLogs(dataFolder);
}

interface Running {
  options: ServeArguments;
  environment: ServeEnvironment;
  launch: LaunchOptions;
  plug: Plug | undefined;
  studio: ServedStudio | undefined;
  limits: AlarmLimits;
  openFiles: number;
}

async function keepRunning(running: Running): Promise<void> {
  const { options, environment, launch, plug, studio } = running;
  const { log, signals, workingFolder } = environment;
  const { host, healthTimeoutMs, graceMs } = options;
  const dataFolder = launch.folders[DATA_SERVICE] ?? "";
  signals.stop.addEventListener("abort", () =>
    log.say(`Stopping. Open requests and sockets get ${graceMs / 1000} s; once more stops at once.`)
  );
  let { port } = launch;
  let hasListened = false;
  const startLimits = new StartLimits(running.limits);
  await supervise(
    {
      async launch(frozenUntil) {
        // The output of a first start that fails is in the error; printing it twice is of no use.
        const early: [string, "stdout" | "stderr"][] = [];
        let isUp = hasListened;
        levelDueAlarms(running, startLimits, frozenUntil);
        const onOutput: LaunchOptions["onOutput"] = (text, stream) =>
          isUp ? log.pass(text, stream) : early.push([text, stream]);
        const workerd = await launchWorkerd({
          ...launch,
          environment: { ...launch.environment, ...frozenEnvironment(frozenUntil) },
          port,
          onOutput
        });
        isUp = true;
        for (const [text, stream] of early) log.pass(text, stream);
        void workerd.ended.then(() => log.flush());
        // A free port, once found, is kept: clients reconnect to it.
        port = workerd.port;
        if (!hasListened) {
          const data = relative(workingFolder, dataFolder) || ".";
          const origin = `http://${hostAndPort(reachableHost(host), port)}`;
          log.say(`Ready: ${origin}/ (data: ${data}; Ctrl-C stops it)`);
          log.say(limitsText(running.openFiles, running.limits));
          if (studio) await startBeside(studio, { folder: environment.studioFolder, origin, log });
        }
        hasListened = true;
        return workerd;
      },
      isAnswering: (atPort, timeoutMs) => isAnswering({ host, port: atPort, timeoutMs }),
      now: () => performance.now(),
      date: () => Date.now(),
      // Aborted means that it is no longer waited for.
      pause: (durationMs, signal) => delay(durationMs, undefined, { signal }).catch(() => undefined),
      log: (text) => log.warn(text),
      memoryKills,
      lastDeath: () => readLastDeath(dataFolder, Date.now()),
      keepDeath: (atMs) => keepLastDeath(dataFolder, atMs, log),
      untilPulled: plug && ((over) => plug.untilPulled(over))
    },
    { healthTimeoutMs, graceMs },
    signals
  );
}

/** Before each start: workerd would run all that are due at once. */
function levelDueAlarms({ launch, environment }: Running, limits: StartLimits, frozenUntil: number | undefined): void {
  const { log } = environment;
  const now = Date.now();
  try {
    const given = limits.at(now, frozenUntil);
    const { due, overMs } = levelAlarms(launch.folders[DATA_SERVICE] ?? "", given, now);
    limits.busyUntil(now + overMs);
    if (due > given.perSecond) log.say(`${due} alarms are due: they run in the next ${Math.ceil(overMs / 1000)} s.`);
  } catch (error) {
    log.warn(`The alarms that are due could not be spread over time: ${errorMessage(error)}. They run at once.`);
  }
}

/** Linux counts them; elsewhere there is no such file. */
function memoryKills(): number | undefined {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync("/proc/vmstat", "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

/** The app is up already, and goes on being supervised without the page. */
async function startBeside(
  studio: ServedStudio,
  { folder, origin, log }: { folder: string; origin: string; log: Log }
): Promise<void> {
  try {
    log.say(`Studio: ${await studio.start(folder, origin)}`);
  } catch (error) {
    log.warn(`${errorMessage(error)} The app runs without it.`);
  }
}

/** Agents share one process here: together they set no more alarms to one time than it can run. */
function withAlarmLimits(bindings: readonly Binding[], limits: AlarmLimits): readonly Binding[] {
  if (!bindings.some(({ type }) => type === "object")) return bindings;
  return [...bindings, { type: "text", name: ALARM_LIMITS_VARIABLE, value: JSON.stringify(limits) }];
}

/** Untrusted code can stop a process only where there is a loader: there agents learn when the last one was stopped. */
function withFrozenBinding(bindings: readonly Binding[]): readonly Binding[] {
  if (!bindings.some(({ type }) => type === "loader")) return bindings;
  return [...bindings, { type: "secret", name: FROZEN_VARIABLE, value: "" }];
}

/** Read by what runs untrusted code: it does not repeat what ran before that time. */
const FROZEN_VARIABLE = "EVERTHINK_FROZEN_UNTIL";

function frozenEnvironment(frozenUntil: number | undefined): Record<string, string> {
  return frozenUntil === undefined ? {} : { [secretVariable(FROZEN_VARIABLE)]: String(frozenUntil) };
}

function readVariableFile(options: ServeArguments, build: Build, workingFolder: string): string | undefined {
  if (options.variableFile === undefined) {
    const usual = join(build.folder, ".dev.vars");
    return existsSync(usual) ? readFileSync(usual, "utf8") : undefined;
  }
  const file = resolve(workingFolder, options.variableFile);
  if (!existsSync(file))
    throw serveErrors.UsageError(`The file ${options.variableFile} given with --var-file does not exist.`);
  return readFileSync(file, "utf8");
}
