// Functions that have the original's name and are called in another way here. The import moves by itself; the calls are the
// developer's to look at. Pure.

/** By module of ours: how a function is called here. */
export const OTHER_CALLS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "everthink/server-entry": {
    routeThinkRequest:
      "routeThinkRequest(request, env, { manifest, authorize?, routing? }), which returns null for other requests",
    buildThinkAgentPath: "buildThinkAgentPath({ agent, name, sub? }, manifest)",
    parseThinkAgentPath: "parseThinkAgentPath(pathname, manifest), which returns { agent, name, sub? } or null",
    resolveThinkSubAgentName: "resolveThinkSubAgentName(name, { parent, manifest })"
  },
  "everthink/framework": {
    mergeThinkWorkerConfig:
      "mergeThinkWorkerConfig(inferred, user); what createThinkWorkerDefaults made is known as inferred in either place, anything else, a copy of it ({ ...defaults }) too, is taken in this order",
    createThinkWorkerConfig:
      "createThinkWorkerConfig(manifest, { userConfig?, name?, main? }), which returns { config, diagnostics }",
    generateThinkTypes:
      "generateThinkTypes(manifest, { sources?, typesFile? }), where sources is what the agent files export"
  },
  "everthink/channels": {
    resolveChannels: "resolveChannels(channels, messengers), which returns a Map by id"
  },
  "everthink/messengers": {
    toMessengerUserMessage: "toMessengerUserMessage(event or events, { speakerLabel?, bot? })",
    messengerReplySnapshot: "messengerReplySnapshot(stage, event, { thread?, tag? })",
    deliverMessengerReply: "deliverMessengerReply({ event, surface, target, delivery?, checkpoint? })",
    textDeltaFromStreamChunk: "textDeltaFromStreamChunk(chunk), with the chunk as JSON or as an object"
  },
  "everthink/messengers/telegram": {
    shardTelegramStateKey: 'shardTelegramStateKey(key, adapterName = "telegram")',
    isTelegramIgnorableDeliveryError: "isTelegramIgnorableDeliveryError(error)"
  }
};

/** Undefined: it is called as the original's, or there was none. */
export function otherCall(specifier: string, name: string): string | undefined {
  const ofModule = OTHER_CALLS[specifier] ?? {};
  return Object.hasOwn(ofModule, name) ? ofModule[name] : undefined;
}
