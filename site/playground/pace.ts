// How fast the model speaks. A pause of a process that died never ends: nothing of that process may go on.
const waiting = new Set<ReturnType<typeof setTimeout>>();

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      waiting.delete(timer);
      resolve();
    }, milliseconds);
    waiting.add(timer);
  });
}

export function forgetPauses(): void {
  for (const timer of waiting) clearTimeout(timer);
  waiting.clear();
}
