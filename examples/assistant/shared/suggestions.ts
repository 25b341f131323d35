// What an empty conversation proposes. Every model can follow these; the offline model knows each by its words.

export interface Suggestion {
  title: string;
  prompt: string;
}

export const SUGGESTIONS: readonly Suggestion[] = [
  { title: "Tell a long story", prompt: "Tell me a long story about a lighthouse keeper." },
  { title: "Think it through", prompt: "Think it through: how many days are left until New Year?" },
  { title: "Ask a team", prompt: "Ask the researcher and the critic whether a lighthouse still needs a keeper." },
  { title: "Use a slow tool", prompt: "Count the primes below 200000 and show your progress." },
  { title: "Ask before deleting", prompt: 'Take a note that says "buy oil for the lamp", then delete it.' },
  { title: "Wait for a decision", prompt: 'Take a note that says "the lamp is lit", then publish it on the board.' },
  {
    title: "Write a program",
    prompt: "Write a program that works out the oil for 12 nights at 7 litres, notes it, and publishes the note."
  },
  {
    title: "Work with files",
    prompt: "Write a packing list into a file, correct it, search it, and sort it with bash."
  },
  { title: "Use a skill", prompt: "Plan a passage from Bergen via Haugesund to Stavanger at 6 knots." },
  { title: "Read the web", prompt: "When is high water at Bergen? Look it up." },
  { title: "Find a tool", prompt: "Is there a free berth for my boat in Haugesund?" },
  { title: "Look at this browser", prompt: "How large is my browser window, and what time zone am I in?" },
  { title: "Remember something", prompt: "Remember that my boat is called Aurora." },
  { title: "Fail on purpose", prompt: "Please fail on purpose, so that I see an error." }
];
