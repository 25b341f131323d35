// A greeting is answered with one, and with what to ask.
import type { Topic } from "../topic.ts";

const GREETING = /^\s*(hi|hello|hey|hallo|good (morning|afternoon|evening|day)|greetings)\b/i;

export const greeting: Topic = {
  isAbout: ({ question }) => GREETING.test(question),
  plan: () => [
    {
      text: 'Hello! I am the built-in offline model of this demonstration: a small script, not a language model. Ask me for a long story, or write "help" to see what else I can show you.'
    }
  ]
};
