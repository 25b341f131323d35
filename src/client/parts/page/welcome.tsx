// A conversation before its first word: what this is, and things to try.
import type { ReactNode } from "react";
import { useChatRoot } from "../conversation/context.ts";

/** Something to try: the text that is sent, perhaps with a shorter title. */
export type Suggestion = string | { readonly title: string; readonly prompt: string };

export interface WelcomeProps {
  readonly title: string;
  readonly suggestions?: readonly Suggestion[];
  /** A picture above the title. */
  readonly picture?: ReactNode;
  /** Below the title. */
  readonly children?: ReactNode;
}

/**
 * What an empty conversation shows. A press on a suggestion sends it.
 *
 * @example
 * <Conversation empty={<Welcome title="How can we help?" suggestions={["Where is order 1002?"]} />} />
 */
export function Welcome({ title, suggestions = [], picture, children }: WelcomeProps) {
  const { actions } = useChatRoot();
  return (
    <section className="think-part think-welcome" aria-label="Begin">
      {picture}
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {suggestions.length > 0 && (
        <ul className="think-suggestions">
          {suggestions.map((suggestion) => {
            const { title: name, prompt } = typeof suggestion === "string" ? plain(suggestion) : suggestion;
            return (
              <li key={name}>
                <button type="button" onClick={() => actions.send([{ type: "text", text: prompt }])}>
                  <span className="think-suggestion-title">{name}</span>
                  {prompt !== name && <span className="think-suggestion-prompt">{prompt}</span>}
                </button>
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}

const plain = (text: string) => ({ title: text, prompt: text });
