/* purposes.h - what random streams are for: the second half of their key (base/rng.h).
 *
 * Every kind of draw above forest/ has its number here, so that no two share a stream.
 */
#ifndef PHL_MODEL_PURPOSES_H
#define PHL_MODEL_PURPOSES_H

/* head/, which lies below: 0x6f726472 "ordr", 0x73616d68 "samh" */

/* em/, gibbs/ */
#define PHL_PURPOSE_EM_START 0x656d7374u      /* "emst": random start of a fit; item = table */
#define PHL_PURPOSE_START 0x73747274u         /* "strt": start of a chain; item 0, or tree + 1 */
#define PHL_PURPOSE_HIDDEN_STATES 0x73706c74u /* "splt": hidden states; item = subtrees by 64s */
#define PHL_PURPOSE_PARTITION 0x70617274u     /* "part": partition moves */
#define PHL_PURPOSE_SWAP 0x73776170u          /* "swap": label swaps */
#define PHL_PURPOSE_RECYCLE 0x72656379u       /* "recy": states recycled; item = try */
#define PHL_PURPOSE_TABLES 0x7461626cu        /* "tabl": table counts, lambda0; item = step */
#define PHL_PURPOSE_CORE 0x636f7265u          /* "core": lambda */
#define PHL_PURPOSE_PRIOR 0x7072696fu         /* "prio": pi; item = first slot of a run */
#define PHL_PURPOSE_EMISSION 0x656d6973u      /* "emis": b */
#define PHL_PURPOSE_UNSEEN 0x756e7365u /* "unse": b of labels not in the forest; item = state */
#define PHL_PURPOSE_KAPPA 0x6d6f6465u  /* "mode": kappa; item = axis */
#define PHL_PURPOSE_SHAPES 0x6f6f6f6fu /* "oooo": o; item = step */

/* gibbs/paper_sampler.c */
#define PHL_PURPOSE_PAPER_STATES 0x73647374u /* "sdst": hidden states; item = tree */
#define PHL_PURPOSE_PAPER_SIZES 0x7364737au  /* "sdsz": the size move */

/* task/ */
#define PHL_PURPOSE_HIDE 0x68696465u   /* "hide": labels to hide; item = tree */
#define PHL_PURPOSE_LABELS 0x6c61626cu /* "labl": labels drawn given known ones; item = tree */
#define PHL_PURPOSE_PICK 0x7069636bu   /* "pick": draw that a sampled tree uses; item = tree */
#define PHL_PURPOSE_SHAPE 0x73687065u  /* "shpe": shape of a sampled tree; iteration = attempt */
#define PHL_PURPOSE_ROOT 0x726f6f74u   /* "root": label of a sampled tree's root; item = tree */
#define PHL_PURPOSE_SAMPLE 0x73616d70u /* "samp": labels of a sampled tree; item = tree */
#define PHL_PURPOSE_FOLDS 0x666f6c64u  /* "fold": dealing trees into folds; stream = class */
#define PHL_PURPOSE_SAMPLES                                                                        \
    0x73616d6cu /* "saml": labels that weights are learned from; item = tree */

#endif
