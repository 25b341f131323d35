// Nothing listens in the page.
export const channel = () => ({ hasSubscribers: false, publish: () => undefined });
export const subscribe = () => undefined;
export const unsubscribe = () => undefined;
