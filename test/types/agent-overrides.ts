// A class that overrides every public method and accessor of an agent without a conversation. It must compile as it stands;
// overrides.test.ts compares it with the classes of the package, so that a further one must be added here.
import type { AgentBase } from "../../src/agent/agent-base.ts";
import {
  Agent,
  type Connection,
  type FiberContext,
  type QueueItem,
  type QueueOptions,
  type RetryCallOptions,
  type Schedule,
  type ScheduleCriteria,
  type ScheduleOptions,
  type SubAgentClass,
  type SubAgentStub
} from "../../src/agent-class/index.ts";
import type { AgentToolValue, RunAgentToolOptions, RunAgentToolResult } from "../../src/features/agent-tools/index.ts";

export class OverridesAgent extends Agent {
  override get name(): Agent["name"] {
    return super.name;
  }

  override get parentPath(): Agent["parentPath"] {
    return super.parentPath;
  }

  override get selfPath(): Agent["selfPath"] {
    return super.selfPath;
  }

  override get sessionAffinity(): Agent["sessionAffinity"] {
    return super.sessionAffinity;
  }

  override getTakeoverReport(...args: Parameters<Agent["getTakeoverReport"]>): ReturnType<Agent["getTakeoverReport"]> {
    return super.getTakeoverReport(...args);
  }

  override onStart(...args: Parameters<Agent["onStart"]>): ReturnType<Agent["onStart"]> {
    return super.onStart(...args);
  }

  override onRequest(...args: Parameters<Agent["onRequest"]>): ReturnType<Agent["onRequest"]> {
    return super.onRequest(...args);
  }

  override onConnect(...args: Parameters<Agent["onConnect"]>): ReturnType<Agent["onConnect"]> {
    return super.onConnect(...args);
  }

  override onMessage(...args: Parameters<Agent["onMessage"]>): ReturnType<Agent["onMessage"]> {
    return super.onMessage(...args);
  }

  override onClose(...args: Parameters<Agent["onClose"]>): ReturnType<Agent["onClose"]> {
    return super.onClose(...args);
  }

  override onError(error: unknown): void;
  override onError(connection: Connection, error: unknown): void;
  override onError(): void {}

  override getConnectionTags(...args: Parameters<Agent["getConnectionTags"]>): ReturnType<Agent["getConnectionTags"]> {
    return super.getConnectionTags(...args);
  }

  override shouldConnectionBeReadonly(
    ...args: Parameters<Agent["shouldConnectionBeReadonly"]>
  ): ReturnType<Agent["shouldConnectionBeReadonly"]> {
    return super.shouldConnectionBeReadonly(...args);
  }

  override shouldSendProtocolMessages(
    ...args: Parameters<Agent["shouldSendProtocolMessages"]>
  ): ReturnType<Agent["shouldSendProtocolMessages"]> {
    return super.shouldSendProtocolMessages(...args);
  }

  override validateStateChange(
    ...args: Parameters<Agent["validateStateChange"]>
  ): ReturnType<Agent["validateStateChange"]> {
    return super.validateStateChange(...args);
  }

  override onStateChanged(...args: Parameters<Agent["onStateChanged"]>): ReturnType<Agent["onStateChanged"]> {
    return super.onStateChanged(...args);
  }

  override onBeforeSubAgent(...args: Parameters<Agent["onBeforeSubAgent"]>): ReturnType<Agent["onBeforeSubAgent"]> {
    return super.onBeforeSubAgent(...args);
  }

  override sql<Row = Record<string, string | number | boolean | null>>(...args: Parameters<Agent["sql"]>): Row[] {
    return super.sql<Row>(...args);
  }

  override get state(): Agent["state"] {
    return super.state;
  }

  override setState(...args: Parameters<Agent["setState"]>): ReturnType<Agent["setState"]> {
    return super.setState(...args);
  }

  override getConnections(...args: Parameters<Agent["getConnections"]>): ReturnType<Agent["getConnections"]> {
    return super.getConnections(...args);
  }

  override getConnection(...args: Parameters<Agent["getConnection"]>): ReturnType<Agent["getConnection"]> {
    return super.getConnection(...args);
  }

  override broadcast(...args: Parameters<Agent["broadcast"]>): ReturnType<Agent["broadcast"]> {
    return super.broadcast(...args);
  }

  override setConnectionReadonly(
    ...args: Parameters<Agent["setConnectionReadonly"]>
  ): ReturnType<Agent["setConnectionReadonly"]> {
    return super.setConnectionReadonly(...args);
  }

  override isConnectionReadonly(
    ...args: Parameters<Agent["isConnectionReadonly"]>
  ): ReturnType<Agent["isConnectionReadonly"]> {
    return super.isConnectionReadonly(...args);
  }

  override isConnectionProtocolEnabled(
    ...args: Parameters<Agent["isConnectionProtocolEnabled"]>
  ): ReturnType<Agent["isConnectionProtocolEnabled"]> {
    return super.isConnectionProtocolEnabled(...args);
  }

  override getCallableMethods(
    ...args: Parameters<Agent["getCallableMethods"]>
  ): ReturnType<Agent["getCallableMethods"]> {
    return super.getCallableMethods(...args);
  }

  override retry<T>(work: (attempt: number) => Promise<T>, options?: RetryCallOptions): Promise<T> {
    return super.retry(work, options);
  }

  override keepAlive(...args: Parameters<Agent["keepAlive"]>): ReturnType<Agent["keepAlive"]> {
    return super.keepAlive(...args);
  }

  override keepAliveWhile<T>(work: () => Promise<T>): Promise<T> {
    return super.keepAliveWhile(work);
  }

  override subAgent<T extends AgentBase>(childClass: SubAgentClass<T>, name: string): Promise<SubAgentStub<T>> {
    return super.subAgent(childClass, name);
  }

  override abortSubAgent(...args: Parameters<Agent["abortSubAgent"]>): ReturnType<Agent["abortSubAgent"]> {
    return super.abortSubAgent(...args);
  }

  override deleteSubAgent(...args: Parameters<Agent["deleteSubAgent"]>): ReturnType<Agent["deleteSubAgent"]> {
    return super.deleteSubAgent(...args);
  }

  override hasSubAgent(...args: Parameters<Agent["hasSubAgent"]>): ReturnType<Agent["hasSubAgent"]> {
    return super.hasSubAgent(...args);
  }

  override listSubAgents(...args: Parameters<Agent["listSubAgents"]>): ReturnType<Agent["listSubAgents"]> {
    return super.listSubAgents(...args);
  }

  override parentAgent<T extends AgentBase>(parentClass: SubAgentClass<T>): Promise<SubAgentStub<T>> {
    return super.parentAgent(parentClass);
  }

  override destroy(...args: Parameters<Agent["destroy"]>): ReturnType<Agent["destroy"]> {
    return super.destroy(...args);
  }

  override fetch(...args: Parameters<Agent["fetch"]>): ReturnType<Agent["fetch"]> {
    return super.fetch(...args);
  }

  override alarm(...args: Parameters<Agent["alarm"]>): ReturnType<Agent["alarm"]> {
    return super.alarm(...args);
  }

  override webSocketMessage(...args: Parameters<Agent["webSocketMessage"]>): ReturnType<Agent["webSocketMessage"]> {
    return super.webSocketMessage(...args);
  }

  override webSocketClose(...args: Parameters<Agent["webSocketClose"]>): ReturnType<Agent["webSocketClose"]> {
    return super.webSocketClose(...args);
  }

  override webSocketError(...args: Parameters<Agent["webSocketError"]>): ReturnType<Agent["webSocketError"]> {
    return super.webSocketError(...args);
  }

  override internalCall(...args: Parameters<Agent["internalCall"]>): ReturnType<Agent["internalCall"]> {
    return super.internalCall(...args);
  }

  override schedule<Payload = unknown>(
    when: number | Date | string,
    callback: keyof this,
    payload?: Payload,
    options?: ScheduleOptions
  ): Promise<Schedule<Payload>> {
    return super.schedule(when, callback, payload, options);
  }

  override scheduleEvery<Payload = unknown>(
    seconds: number,
    callback: keyof this,
    payload?: Payload
  ): Promise<Schedule<Payload>> {
    return super.scheduleEvery(seconds, callback, payload);
  }

  override cancelSchedule(...args: Parameters<Agent["cancelSchedule"]>): ReturnType<Agent["cancelSchedule"]> {
    return super.cancelSchedule(...args);
  }

  override getSchedule<Payload = unknown>(id: string): Schedule<Payload> | undefined {
    return super.getSchedule(id);
  }

  override getSchedules<Payload = unknown>(criteria?: ScheduleCriteria): Schedule<Payload>[] {
    return super.getSchedules(criteria);
  }

  override getScheduleById<Payload = unknown>(id: string): Promise<Schedule<Payload> | undefined> {
    return super.getScheduleById(id);
  }

  override listSchedules<Payload = unknown>(criteria?: ScheduleCriteria): Promise<Schedule<Payload>[]> {
    return super.listSchedules(criteria);
  }

  override onFiberRecovered(...args: Parameters<Agent["onFiberRecovered"]>): ReturnType<Agent["onFiberRecovered"]> {
    return super.onFiberRecovered(...args);
  }

  override runFiber<T>(name: string, work: (context: FiberContext) => Promise<T>): Promise<T> {
    return super.runFiber(name, work);
  }

  override stash(...args: Parameters<Agent["stash"]>): ReturnType<Agent["stash"]> {
    return super.stash(...args);
  }

  override startFiber(...args: Parameters<Agent["startFiber"]>): ReturnType<Agent["startFiber"]> {
    return super.startFiber(...args);
  }

  override inspectFiber(...args: Parameters<Agent["inspectFiber"]>): ReturnType<Agent["inspectFiber"]> {
    return super.inspectFiber(...args);
  }

  override inspectFiberByKey(...args: Parameters<Agent["inspectFiberByKey"]>): ReturnType<Agent["inspectFiberByKey"]> {
    return super.inspectFiberByKey(...args);
  }

  override cancelFiber(...args: Parameters<Agent["cancelFiber"]>): ReturnType<Agent["cancelFiber"]> {
    return super.cancelFiber(...args);
  }

  override cancelFiberByKey(...args: Parameters<Agent["cancelFiberByKey"]>): ReturnType<Agent["cancelFiberByKey"]> {
    return super.cancelFiberByKey(...args);
  }

  override resolveFiber(...args: Parameters<Agent["resolveFiber"]>): ReturnType<Agent["resolveFiber"]> {
    return super.resolveFiber(...args);
  }

  override listFibers(...args: Parameters<Agent["listFibers"]>): ReturnType<Agent["listFibers"]> {
    return super.listFibers(...args);
  }

  override deleteFibers(...args: Parameters<Agent["deleteFibers"]>): ReturnType<Agent["deleteFibers"]> {
    return super.deleteFibers(...args);
  }

  override queue<Payload>(callback: keyof this, payload: Payload, options?: QueueOptions): Promise<string> {
    return super.queue(callback, payload, options);
  }

  override dequeue(...args: Parameters<Agent["dequeue"]>): ReturnType<Agent["dequeue"]> {
    return super.dequeue(...args);
  }

  override dequeueAll(...args: Parameters<Agent["dequeueAll"]>): ReturnType<Agent["dequeueAll"]> {
    return super.dequeueAll(...args);
  }

  override dequeueAllByCallback(
    ...args: Parameters<Agent["dequeueAllByCallback"]>
  ): ReturnType<Agent["dequeueAllByCallback"]> {
    return super.dequeueAllByCallback(...args);
  }

  override getQueue<Payload = unknown>(id: string): Promise<QueueItem<Payload> | undefined> {
    return super.getQueue(id);
  }

  override getQueues<Payload = unknown>(key: string, value: string): Promise<QueueItem<Payload>[]> {
    return super.getQueues(key, value);
  }

  override getDeadLetters(...args: Parameters<Agent["getDeadLetters"]>): ReturnType<Agent["getDeadLetters"]> {
    return super.getDeadLetters(...args);
  }

  override requeueDeadLetter(...args: Parameters<Agent["requeueDeadLetter"]>): ReturnType<Agent["requeueDeadLetter"]> {
    return super.requeueDeadLetter(...args);
  }

  override onWorkflowProgress(
    ...args: Parameters<Agent["onWorkflowProgress"]>
  ): ReturnType<Agent["onWorkflowProgress"]> {
    return super.onWorkflowProgress(...args);
  }

  override onWorkflowComplete(
    ...args: Parameters<Agent["onWorkflowComplete"]>
  ): ReturnType<Agent["onWorkflowComplete"]> {
    return super.onWorkflowComplete(...args);
  }

  override onWorkflowError(...args: Parameters<Agent["onWorkflowError"]>): ReturnType<Agent["onWorkflowError"]> {
    return super.onWorkflowError(...args);
  }

  override onWorkflowEvent(...args: Parameters<Agent["onWorkflowEvent"]>): ReturnType<Agent["onWorkflowEvent"]> {
    return super.onWorkflowEvent(...args);
  }

  override runWorkflow(...args: Parameters<Agent["runWorkflow"]>): ReturnType<Agent["runWorkflow"]> {
    return super.runWorkflow(...args);
  }

  override sendWorkflowEvent(...args: Parameters<Agent["sendWorkflowEvent"]>): ReturnType<Agent["sendWorkflowEvent"]> {
    return super.sendWorkflowEvent(...args);
  }

  override getWorkflow(...args: Parameters<Agent["getWorkflow"]>): ReturnType<Agent["getWorkflow"]> {
    return super.getWorkflow(...args);
  }

  override getWorkflows(...args: Parameters<Agent["getWorkflows"]>): ReturnType<Agent["getWorkflows"]> {
    return super.getWorkflows(...args);
  }

  override getWorkflowStatus(...args: Parameters<Agent["getWorkflowStatus"]>): ReturnType<Agent["getWorkflowStatus"]> {
    return super.getWorkflowStatus(...args);
  }

  override approveWorkflow(...args: Parameters<Agent["approveWorkflow"]>): ReturnType<Agent["approveWorkflow"]> {
    return super.approveWorkflow(...args);
  }

  override rejectWorkflow(...args: Parameters<Agent["rejectWorkflow"]>): ReturnType<Agent["rejectWorkflow"]> {
    return super.rejectWorkflow(...args);
  }

  override terminateWorkflow(...args: Parameters<Agent["terminateWorkflow"]>): ReturnType<Agent["terminateWorkflow"]> {
    return super.terminateWorkflow(...args);
  }

  override pauseWorkflow(...args: Parameters<Agent["pauseWorkflow"]>): ReturnType<Agent["pauseWorkflow"]> {
    return super.pauseWorkflow(...args);
  }

  override resumeWorkflow(...args: Parameters<Agent["resumeWorkflow"]>): ReturnType<Agent["resumeWorkflow"]> {
    return super.resumeWorkflow(...args);
  }

  override restartWorkflow(...args: Parameters<Agent["restartWorkflow"]>): ReturnType<Agent["restartWorkflow"]> {
    return super.restartWorkflow(...args);
  }

  override deleteWorkflow(...args: Parameters<Agent["deleteWorkflow"]>): ReturnType<Agent["deleteWorkflow"]> {
    return super.deleteWorkflow(...args);
  }

  override deleteWorkflows(...args: Parameters<Agent["deleteWorkflows"]>): ReturnType<Agent["deleteWorkflows"]> {
    return super.deleteWorkflows(...args);
  }

  override sendEmail(...args: Parameters<Agent["sendEmail"]>): ReturnType<Agent["sendEmail"]> {
    return super.sendEmail(...args);
  }

  override replyToEmail(...args: Parameters<Agent["replyToEmail"]>): ReturnType<Agent["replyToEmail"]> {
    return super.replyToEmail(...args);
  }

  override createMcpOAuthProvider(
    ...args: Parameters<Agent["createMcpOAuthProvider"]>
  ): ReturnType<Agent["createMcpOAuthProvider"]> {
    return super.createMcpOAuthProvider(...args);
  }

  override get mcp(): Agent["mcp"] {
    return super.mcp;
  }

  override addMcpServer(...args: Parameters<Agent["addMcpServer"]>): ReturnType<Agent["addMcpServer"]> {
    return super.addMcpServer(...args);
  }

  override removeMcpServer(...args: Parameters<Agent["removeMcpServer"]>): ReturnType<Agent["removeMcpServer"]> {
    return super.removeMcpServer(...args);
  }

  override getMcpServers(...args: Parameters<Agent["getMcpServers"]>): ReturnType<Agent["getMcpServers"]> {
    return super.getMcpServers(...args);
  }

  override onAgentToolStart(...args: Parameters<Agent["onAgentToolStart"]>): ReturnType<Agent["onAgentToolStart"]> {
    return super.onAgentToolStart(...args);
  }

  override onAgentToolFinish(...args: Parameters<Agent["onAgentToolFinish"]>): ReturnType<Agent["onAgentToolFinish"]> {
    return super.onAgentToolFinish(...args);
  }

  override runAgentTool<Input = unknown, Output = AgentToolValue>(
    childClass: SubAgentClass,
    options: RunAgentToolOptions<Input>
  ): Promise<RunAgentToolResult<Output>> {
    return super.runAgentTool(childClass, options);
  }

  override hasAgentToolRun(...args: Parameters<Agent["hasAgentToolRun"]>): ReturnType<Agent["hasAgentToolRun"]> {
    return super.hasAgentToolRun(...args);
  }

  override listAgentToolRuns(...args: Parameters<Agent["listAgentToolRuns"]>): ReturnType<Agent["listAgentToolRuns"]> {
    return super.listAgentToolRuns(...args);
  }

  override clearAgentToolRuns(
    ...args: Parameters<Agent["clearAgentToolRuns"]>
  ): ReturnType<Agent["clearAgentToolRuns"]> {
    return super.clearAgentToolRuns(...args);
  }

  override inspectAgentToolRun(
    ...args: Parameters<Agent["inspectAgentToolRun"]>
  ): ReturnType<Agent["inspectAgentToolRun"]> {
    return super.inspectAgentToolRun(...args);
  }

  override cancelAgentToolRun(
    ...args: Parameters<Agent["cancelAgentToolRun"]>
  ): ReturnType<Agent["cancelAgentToolRun"]> {
    return super.cancelAgentToolRun(...args);
  }

  override cancelAgentTool(...args: Parameters<Agent["cancelAgentTool"]>): ReturnType<Agent["cancelAgentTool"]> {
    return super.cancelAgentTool(...args);
  }

  override readAgentToolRun(...args: Parameters<Agent["readAgentToolRun"]>): ReturnType<Agent["readAgentToolRun"]> {
    return super.readAgentToolRun(...args);
  }
}
