// What is said in a round of the SIGKILL tests, for the worker and for the client: questions, the model's plans, and the
// tools. Everything that can be cut off is in it: text, reasoning, parallel tools of which one fails, a sub-agent as a tool, a
// client tool, an approval, a regeneration and a clear.
import type { AnswerPlans } from "../../../src/testing/model/plan.ts";

export const QUESTIONS = {
  sky: "Why is the sky blue?",
  book: "Book the trip.",
  guide: "Ask a guide.",
  where: "Where am I?",
  pay: "Pay the bill.",
  who: "Who are you?",
  there: "Still there?"
} as const;

/** In the system text of a turn that is to be answered in another way. */
export const DIFFERENTLY = "Answer differently.";

export const PLANS: AnswerPlans = {
  [QUESTIONS.sky]: [
    {
      reasoning: "Light is scattered by air, and blue light most of all.",
      text: "Because air scatters blue light more than the rest, it comes to us from everywhere in the sky."
    }
  ],
  [QUESTIONS.book]: [
    {
      text: "I book both now. ",
      calls: [
        { tool: "bookHotel", input: { city: "Paris", nights: 2 } },
        { tool: "bookTrain", input: { city: "Paris" } }
      ]
    },
    { reasoning: "No train, but a room.", text: "The hotel is booked, but the train is full." }
  ],
  [QUESTIONS.guide]: [
    { text: "One moment. ", calls: [{ tool: "askGuide", input: { about: "the Louvre" } }] },
    { text: "The guide says that it is closed on Tuesdays." }
  ],
  [QUESTIONS.where]: [
    { text: "Let me see. ", calls: [{ tool: "locate", input: { precise: true } }] },
    { text: "You are in Rome, near the river." }
  ],
  [QUESTIONS.pay]: [
    { text: "With your permission. ", calls: [{ tool: "pay", input: { amount: 12 } }] },
    { text: "It is paid." }
  ],
  [QUESTIONS.who]: (prompt) => {
    const isSecond = prompt.some(({ role, content }) => role === "system" && content.includes(DIFFERENTLY));
    return [{ text: isSecond ? "Somebody else, and glad to be of help." : "An assistant that nothing can stop." }];
  },
  [QUESTIONS.there]: [{ text: "Always, whatever happens." }]
};

/** What the sub-agent is asked, and answers. */
export const GUIDE_PLANS: AnswerPlans = {
  [JSON.stringify({ about: "the Louvre" }, null, 2)]: [
    { reasoning: "It is a museum.", text: "The Louvre is closed on Tuesdays, and open late on Fridays." }
  ]
};

/** A side effect, counted where it happened. */
export interface Effect {
  callId: string;
  tool: string;
  began: number;
  ended: number;
}

/** What the agent tells of itself between two steps. */
export interface StoredState {
  effects: Effect[];
  /** Settlements in the journal. */
  settled: { turnId: string; sequence: number; outcome: string }[];
  openTurns: string[];
}
