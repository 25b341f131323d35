// A story, long enough to be interrupted.
import type { Topic } from "../topic.ts";

const STORY = `# The Keeper of Gull Rock

Marta Oyen had kept the light on Gull Rock for nineteen years, and in all that time she had never let it go out before sunrise. There was no secret in it. Every evening she climbed the hundred and twelve steps, wound the clockwork, trimmed the wick, and wrote one line into the logbook: the hour, the wind, and the words *lamp lit*.

The logbook mattered more to her than the lamp. A lamp is only ever burning or not, she liked to say, but a book remembers. When the relief boat could not land for six weeks one winter, and she lay in bed with a fever that made the walls breathe, it was the book that told her each morning what she had done in the night. She would wake, read the last line, and carry on with the next one. She never had to guess.

The storm that people still talk about came in the first week of November. It took the railing first, then the shutters, and a little after midnight a wave climbed the whole height of the tower and put its fist through the glass. The lamp died at once. Marta was thrown down the stairs as far as the second landing, and for a while she knew nothing at all.

When she came to herself it was dark, and the sea was very loud. She did not know what hour it was, or whether she had already been up to look. So she felt her way to the desk, struck a match, and opened the book. *Half past twelve*, said the last line, in her own hand. *Wind north-west, glass broken, lamp out. Oil is on the third shelf. Storm lantern is behind the door.*

She could not remember writing it. But it was written, and that was enough. She took the oil from the third shelf and the lantern from behind the door, and she did not waste a single step on searching. On the way up she passed the place where she had fallen, and thought no more about it than one thinks about a comma.

At ten minutes to one a light showed again on Gull Rock. It was smaller than before, and it shook, but it counted two flashes, then darkness, then two flashes, as it always had. Eleven miles out, the mate of the *Aurora* had just begun to doubt his reckoning. He saw two flashes, counted the darkness, saw two more, and turned the wheel a hand's breadth to the south.

He never learned that the light had been gone. In his own log it says only: *Gull Rock sighted, all well.*

Marta sat beside the lantern until morning with the book on her knees. When the sun came up she put out the flame, wrote the hour and the wind, and looked for a moment at the line before it. Then she added what she had added every day for nineteen years, because it was true again: *lamp lit until sunrise.*`;

export const story: Topic = {
  isAbout: ({ question }) => /\b(story|tale|lighthouse)\b/i.test(question),
  plan: () => [{ text: STORY }]
};
