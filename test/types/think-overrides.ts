// oxlint-disable max-lines -- one class with every name that a user may override: it grows with them.
// A class that overrides every public method and accessor which a conversation has beside those of every agent. It must
// compile as it stands; overrides.test.ts compares it with the classes of the package, so that a further one must be added
// here.
import type { ToolLoopAgent, ToolSet, UIMessage } from "ai";
import {
  Think,
  type MessengerOrigin,
  type RunTurnStreamOptions,
  type RunTurnSubmitOptions,
  type RunTurnWaitOptions,
  type SaveMessagesResult,
  type SubmitMessagesResult,
  type ThinkSubmissionInspection,
  type TurnResult
} from "../../src/index.ts";

export class OverridesThink extends Think {
  override getModel(...args: Parameters<Think["getModel"]>): ReturnType<Think["getModel"]> {
    // It has no implementation to call.
    throw new Error(`No model for ${args.length} arguments.`);
  }

  override getSystemPrompt(...args: Parameters<Think["getSystemPrompt"]>): ReturnType<Think["getSystemPrompt"]> {
    return super.getSystemPrompt(...args);
  }

  override getTools(...args: Parameters<Think["getTools"]>): ReturnType<Think["getTools"]> {
    return super.getTools(...args);
  }

  override getFeatures(...args: Parameters<Think["getFeatures"]>): ReturnType<Think["getFeatures"]> {
    return super.getFeatures(...args);
  }

  override authorizeTurn(...args: Parameters<Think["authorizeTurn"]>): ReturnType<Think["authorizeTurn"]> {
    return super.authorizeTurn(...args);
  }

  override configureSession(...args: Parameters<Think["configureSession"]>): ReturnType<Think["configureSession"]> {
    return super.configureSession(...args);
  }

  override beforeTurn(...args: Parameters<Think["beforeTurn"]>): ReturnType<Think["beforeTurn"]> {
    return super.beforeTurn(...args);
  }

  override beforeStep(...args: Parameters<Think["beforeStep"]>): ReturnType<Think["beforeStep"]> {
    return super.beforeStep(...args);
  }

  override beforeToolCall(...args: Parameters<Think["beforeToolCall"]>): ReturnType<Think["beforeToolCall"]> {
    return super.beforeToolCall(...args);
  }

  override afterToolCall(...args: Parameters<Think["afterToolCall"]>): ReturnType<Think["afterToolCall"]> {
    return super.afterToolCall(...args);
  }

  override onStepFinish(...args: Parameters<Think["onStepFinish"]>): ReturnType<Think["onStepFinish"]> {
    return super.onStepFinish(...args);
  }

  override onStepEnd(...args: Parameters<Think["onStepEnd"]>): ReturnType<Think["onStepEnd"]> {
    return super.onStepEnd(...args);
  }

  override onChunk(...args: Parameters<Think["onChunk"]>): ReturnType<Think["onChunk"]> {
    return super.onChunk(...args);
  }

  override onChatResponse(...args: Parameters<Think["onChatResponse"]>): ReturnType<Think["onChatResponse"]> {
    return super.onChatResponse(...args);
  }

  override onChatError(...args: Parameters<Think["onChatError"]>): ReturnType<Think["onChatError"]> {
    return super.onChatError(...args);
  }

  override onChatRecovery(...args: Parameters<Think["onChatRecovery"]>): ReturnType<Think["onChatRecovery"]> {
    return super.onChatRecovery(...args);
  }

  protected override repairInterruptedToolPart(part: UIMessage["parts"][number]): UIMessage["parts"][number] {
    return super.repairInterruptedToolPart(part);
  }

  override classifyChatError(...args: Parameters<Think["classifyChatError"]>): ReturnType<Think["classifyChatError"]> {
    return super.classifyChatError(...args);
  }

  override get session(): Think["session"] {
    return super.session;
  }

  override get messages(): Think["messages"] {
    return super.messages;
  }

  override getMessages(...args: Parameters<Think["getMessages"]>): ReturnType<Think["getMessages"]> {
    return super.getMessages(...args);
  }

  override addMessages(...args: Parameters<Think["addMessages"]>): ReturnType<Think["addMessages"]> {
    return super.addMessages(...args);
  }

  override listBranches(...args: Parameters<Think["listBranches"]>): ReturnType<Think["listBranches"]> {
    return super.listBranches(...args);
  }

  override selectBranch(...args: Parameters<Think["selectBranch"]>): ReturnType<Think["selectBranch"]> {
    return super.selectBranch(...args);
  }

  override clearMessages(...args: Parameters<Think["clearMessages"]>): ReturnType<Think["clearMessages"]> {
    return super.clearMessages(...args);
  }

  override chat(...args: Parameters<Think["chat"]>): ReturnType<Think["chat"]> {
    return super.chat(...args);
  }

  override saveMessages(...args: Parameters<Think["saveMessages"]>): ReturnType<Think["saveMessages"]> {
    return super.saveMessages(...args);
  }

  protected override continueLastTurn(body?: Record<string, unknown>): Promise<SaveMessagesResult> {
    return super.continueLastTurn(body);
  }

  override runTurn(options: RunTurnStreamOptions): Promise<void>;
  override runTurn(options: RunTurnSubmitOptions): Promise<SubmitMessagesResult>;
  override runTurn(options: RunTurnWaitOptions): Promise<TurnResult>;
  override async runTurn(): Promise<never> {
    throw new Error("No turns here.");
  }

  override stash(...args: Parameters<Think["stash"]>): ReturnType<Think["stash"]> {
    return super.stash(...args);
  }

  override cancelChat(...args: Parameters<Think["cancelChat"]>): ReturnType<Think["cancelChat"]> {
    return super.cancelChat(...args);
  }

  override cancelAllChats(...args: Parameters<Think["cancelAllChats"]>): ReturnType<Think["cancelAllChats"]> {
    return super.cancelAllChats(...args);
  }

  protected override abortRequest(requestId: string, reason?: string): void {
    super.abortRequest(requestId, reason);
  }

  protected override abortAllRequests(): void {
    super.abortAllRequests();
  }

  protected override resetTurnState(): void {
    super.resetTurnState();
  }

  protected override hasPendingInteraction(): boolean {
    return super.hasPendingInteraction();
  }

  protected override waitUntilStable(options?: { timeout?: number }): Promise<boolean> {
    return super.waitUntilStable(options);
  }

  override explainPrompt(...args: Parameters<Think["explainPrompt"]>): ReturnType<Think["explainPrompt"]> {
    return super.explainPrompt(...args);
  }

  override readJournal(...args: Parameters<Think["readJournal"]>): ReturnType<Think["readJournal"]> {
    return super.readJournal(...args);
  }

  override configure<Config = unknown>(config: Config): void {
    super.configure(config);
  }

  override getConfig<Config = unknown>(): Config | null {
    return super.getConfig();
  }

  override getOnStartDegradations(
    ...args: Parameters<Think["getOnStartDegradations"]>
  ): ReturnType<Think["getOnStartDegradations"]> {
    return super.getOnStartDegradations(...args);
  }

  protected override appendMessageToHistory(message: UIMessage, parentId?: string | null): Promise<void> {
    return super.appendMessageToHistory(message, parentId);
  }

  protected override updateMessageInHistory(message: UIMessage): Promise<void> {
    return super.updateMessageInHistory(message);
  }

  protected override syncMessagesFromStorage(): Promise<void> {
    return super.syncMessagesFromStorage();
  }

  override submitMessages(...args: Parameters<Think["submitMessages"]>): ReturnType<Think["submitMessages"]> {
    return super.submitMessages(...args);
  }

  override inspectSubmission(...args: Parameters<Think["inspectSubmission"]>): ReturnType<Think["inspectSubmission"]> {
    return super.inspectSubmission(...args);
  }

  override listSubmissions(...args: Parameters<Think["listSubmissions"]>): ReturnType<Think["listSubmissions"]> {
    return super.listSubmissions(...args);
  }

  override waitForSubmission(...args: Parameters<Think["waitForSubmission"]>): ReturnType<Think["waitForSubmission"]> {
    return super.waitForSubmission(...args);
  }

  override cancelSubmission(...args: Parameters<Think["cancelSubmission"]>): ReturnType<Think["cancelSubmission"]> {
    return super.cancelSubmission(...args);
  }

  override deleteSubmission(...args: Parameters<Think["deleteSubmission"]>): ReturnType<Think["deleteSubmission"]> {
    return super.deleteSubmission(...args);
  }

  override deleteSubmissions(...args: Parameters<Think["deleteSubmissions"]>): ReturnType<Think["deleteSubmissions"]> {
    return super.deleteSubmissions(...args);
  }

  override authorizeSubmission(
    ...args: Parameters<Think["authorizeSubmission"]>
  ): ReturnType<Think["authorizeSubmission"]> {
    return super.authorizeSubmission(...args);
  }

  protected override onSubmissionStatus(submission: ThinkSubmissionInspection): void | Promise<void> {
    return super.onSubmissionStatus(submission);
  }

  override getScheduledTasks(...args: Parameters<Think["getScheduledTasks"]>): ReturnType<Think["getScheduledTasks"]> {
    return super.getScheduledTasks(...args);
  }

  override getDefaultTimezone(
    ...args: Parameters<Think["getDefaultTimezone"]>
  ): ReturnType<Think["getDefaultTimezone"]> {
    return super.getDefaultTimezone(...args);
  }

  override reconcileScheduledTasks(
    ...args: Parameters<Think["reconcileScheduledTasks"]>
  ): ReturnType<Think["reconcileScheduledTasks"]> {
    return super.reconcileScheduledTasks(...args);
  }

  override internal_reconcileScheduledTasks(
    ...args: Parameters<Think["internal_reconcileScheduledTasks"]>
  ): ReturnType<Think["internal_reconcileScheduledTasks"]> {
    return super.internal_reconcileScheduledTasks(...args);
  }

  override listScheduledTasks(
    ...args: Parameters<Think["listScheduledTasks"]>
  ): ReturnType<Think["listScheduledTasks"]> {
    return super.listScheduledTasks(...args);
  }

  override runScheduledTask(...args: Parameters<Think["runScheduledTask"]>): ReturnType<Think["runScheduledTask"]> {
    return super.runScheduledTask(...args);
  }

  override internal_runScheduledTask(
    ...args: Parameters<Think["internal_runScheduledTask"]>
  ): ReturnType<Think["internal_runScheduledTask"]> {
    return super.internal_runScheduledTask(...args);
  }

  override internal_askApproval(
    ...args: Parameters<Think["internal_askApproval"]>
  ): ReturnType<Think["internal_askApproval"]> {
    return super.internal_askApproval(...args);
  }

  override internal_withdrawApproval(
    ...args: Parameters<Think["internal_withdrawApproval"]>
  ): ReturnType<Think["internal_withdrawApproval"]> {
    return super.internal_withdrawApproval(...args);
  }

  override getMessengers(...args: Parameters<Think["getMessengers"]>): ReturnType<Think["getMessengers"]> {
    return super.getMessengers(...args);
  }

  override authorizeMessengerConversation(
    ...args: Parameters<Think["authorizeMessengerConversation"]>
  ): ReturnType<Think["authorizeMessengerConversation"]> {
    return super.authorizeMessengerConversation(...args);
  }

  override configureChannels(...args: Parameters<Think["configureChannels"]>): ReturnType<Think["configureChannels"]> {
    return super.configureChannels(...args);
  }

  override get activeChannel(): Think["activeChannel"] {
    return super.activeChannel;
  }

  override getMessengerContext<Context extends MessengerOrigin = MessengerOrigin>(): Context | undefined {
    return super.getMessengerContext();
  }

  override deliverNotice(...args: Parameters<Think["deliverNotice"]>): ReturnType<Think["deliverNotice"]> {
    return super.deliverNotice(...args);
  }

  override fetchMessengerAttachment(
    ...args: Parameters<Think["fetchMessengerAttachment"]>
  ): ReturnType<Think["fetchMessengerAttachment"]> {
    return super.fetchMessengerAttachment(...args);
  }

  override replyFiles(...args: Parameters<Think["replyFiles"]>): ReturnType<Think["replyFiles"]> {
    return super.replyFiles(...args);
  }

  override waitingApprovals(...args: Parameters<Think["waitingApprovals"]>): ReturnType<Think["waitingApprovals"]> {
    return super.waitingApprovals(...args);
  }

  override decideCall(...args: Parameters<Think["decideCall"]>): ReturnType<Think["decideCall"]> {
    return super.decideCall(...args);
  }

  override approvalOutcome(...args: Parameters<Think["approvalOutcome"]>): ReturnType<Think["approvalOutcome"]> {
    return super.approvalOutcome(...args);
  }

  override approvalOutcomes(...args: Parameters<Think["approvalOutcomes"]>): ReturnType<Think["approvalOutcomes"]> {
    return super.approvalOutcomes(...args);
  }

  override chatWithMessengerContext(
    ...args: Parameters<Think["chatWithMessengerContext"]>
  ): ReturnType<Think["chatWithMessengerContext"]> {
    return super.chatWithMessengerContext(...args);
  }

  override steerMessenger(...args: Parameters<Think["steerMessenger"]>): ReturnType<Think["steerMessenger"]> {
    return super.steerMessenger(...args);
  }
  override answerMessenger(...args: Parameters<Think["answerMessenger"]>): ReturnType<Think["answerMessenger"]> {
    return super.answerMessenger(...args);
  }

  override messengerCall(...args: Parameters<Think["messengerCall"]>): ReturnType<Think["messengerCall"]> {
    return super.messengerCall(...args);
  }

  override authorizeApproval(...args: Parameters<Think["authorizeApproval"]>): ReturnType<Think["authorizeApproval"]> {
    return super.authorizeApproval(...args);
  }

  override identifyApprover(...args: Parameters<Think["identifyApprover"]>): ReturnType<Think["identifyApprover"]> {
    return super.identifyApprover(...args);
  }

  override pendingApprovals(...args: Parameters<Think["pendingApprovals"]>): ReturnType<Think["pendingApprovals"]> {
    return super.pendingApprovals(...args);
  }

  override approveExecution(...args: Parameters<Think["approveExecution"]>): ReturnType<Think["approveExecution"]> {
    return super.approveExecution(...args);
  }

  override rejectExecution(...args: Parameters<Think["rejectExecution"]>): ReturnType<Think["rejectExecution"]> {
    return super.rejectExecution(...args);
  }

  override getActions(...args: Parameters<Think["getActions"]>): ReturnType<Think["getActions"]> {
    return super.getActions(...args);
  }

  override authorizeAction(...args: Parameters<Think["authorizeAction"]>): ReturnType<Think["authorizeAction"]> {
    return super.authorizeAction(...args);
  }

  override renderAttachment(...args: Parameters<Think["renderAttachment"]>): ReturnType<Think["renderAttachment"]> {
    return super.renderAttachment(...args);
  }

  override replyAttachments(...args: Parameters<Think["replyAttachments"]>): ReturnType<Think["replyAttachments"]> {
    return super.replyAttachments(...args);
  }

  override listActionLedger(...args: Parameters<Think["listActionLedger"]>): ReturnType<Think["listActionLedger"]> {
    return super.listActionLedger(...args);
  }

  override resolveActionLedger(
    ...args: Parameters<Think["resolveActionLedger"]>
  ): ReturnType<Think["resolveActionLedger"]> {
    return super.resolveActionLedger(...args);
  }

  override authorizeWorkspace(
    ...args: Parameters<Think["authorizeWorkspace"]>
  ): ReturnType<Think["authorizeWorkspace"]> {
    return super.authorizeWorkspace(...args);
  }

  override mcpApproval(...args: Parameters<Think["mcpApproval"]>): ReturnType<Think["mcpApproval"]> {
    return super.mcpApproval(...args);
  }

  override getExtensions(...args: Parameters<Think["getExtensions"]>): ReturnType<Think["getExtensions"]> {
    return super.getExtensions(...args);
  }

  override getModels(...args: Parameters<Think["getModels"]>): ReturnType<Think["getModels"]> {
    return super.getModels(...args);
  }

  override onModelFailure(...args: Parameters<Think["onModelFailure"]>): ReturnType<Think["onModelFailure"]> {
    return super.onModelFailure(...args);
  }

  override resolveModel(...args: Parameters<Think["resolveModel"]>): ReturnType<Think["resolveModel"]> {
    return super.resolveModel(...args);
  }

  override getSkills(...args: Parameters<Think["getSkills"]>): ReturnType<Think["getSkills"]> {
    return super.getSkills(...args);
  }

  override getSkillScriptRunner(
    ...args: Parameters<Think["getSkillScriptRunner"]>
  ): ReturnType<Think["getSkillScriptRunner"]> {
    return super.getSkillScriptRunner(...args);
  }

  override formatAgentToolInput(
    ...args: Parameters<Think["formatAgentToolInput"]>
  ): ReturnType<Think["formatAgentToolInput"]> {
    return super.formatAgentToolInput(...args);
  }

  override getAgentToolOutput(
    ...args: Parameters<Think["getAgentToolOutput"]>
  ): ReturnType<Think["getAgentToolOutput"]> {
    return super.getAgentToolOutput(...args);
  }

  override getAgentToolSummary(
    ...args: Parameters<Think["getAgentToolSummary"]>
  ): ReturnType<Think["getAgentToolSummary"]> {
    return super.getAgentToolSummary(...args);
  }

  override steerAgentToolRun(...args: Parameters<Think["steerAgentToolRun"]>): ReturnType<Think["steerAgentToolRun"]> {
    return super.steerAgentToolRun(...args);
  }
  override startAgentToolRun(...args: Parameters<Think["startAgentToolRun"]>): ReturnType<Think["startAgentToolRun"]> {
    return super.startAgentToolRun(...args);
  }

  override getAgentToolChunks(
    ...args: Parameters<Think["getAgentToolChunks"]>
  ): ReturnType<Think["getAgentToolChunks"]> {
    return super.getAgentToolChunks(...args);
  }

  override tailAgentToolRun(...args: Parameters<Think["tailAgentToolRun"]>): ReturnType<Think["tailAgentToolRun"]> {
    return super.tailAgentToolRun(...args);
  }

  override getExecuteRuntime(...args: Parameters<Think["getExecuteRuntime"]>): ReturnType<Think["getExecuteRuntime"]> {
    return super.getExecuteRuntime(...args);
  }

  override pendingExecutions(...args: Parameters<Think["pendingExecutions"]>): ReturnType<Think["pendingExecutions"]> {
    return super.pendingExecutions(...args);
  }

  override describePausedExecution(
    ...args: Parameters<Think["describePausedExecution"]>
  ): ReturnType<Think["describePausedExecution"]> {
    return super.describePausedExecution(...args);
  }

  override authorizeInspection(
    ...args: Parameters<Think["authorizeInspection"]>
  ): ReturnType<Think["authorizeInspection"]> {
    return super.authorizeInspection(...args);
  }

  override inspectionModels(...args: Parameters<Think["inspectionModels"]>): ReturnType<Think["inspectionModels"]> {
    return super.inspectionModels(...args);
  }

  override getPrices(...args: Parameters<Think["getPrices"]>): ReturnType<Think["getPrices"]> {
    return super.getPrices(...args);
  }
  override getBudgets(...args: Parameters<Think["getBudgets"]>): ReturnType<Think["getBudgets"]> {
    return super.getBudgets(...args);
  }
  override inheritBudgets(...args: Parameters<Think["inheritBudgets"]>): ReturnType<Think["inheritBudgets"]> {
    return super.inheritBudgets(...args);
  }
  override askBudgets(...args: Parameters<Think["askBudgets"]>): ReturnType<Think["askBudgets"]> {
    return super.askBudgets(...args);
  }
  override budgeted(...args: Parameters<Think["budgeted"]>): ReturnType<Think["budgeted"]> {
    return super.budgeted(...args);
  }
  override spend(...args: Parameters<Think["spend"]>): ReturnType<Think["spend"]> {
    return super.spend(...args);
  }
  override getCosts(...args: Parameters<Think["getCosts"]>): ReturnType<Think["getCosts"]> {
    return super.getCosts(...args);
  }

  override toAISDKAgent<TOOLS extends ToolSet = {}>(): ToolLoopAgent<never, TOOLS> {
    return super.toAISDKAgent<TOOLS>();
  }
}
