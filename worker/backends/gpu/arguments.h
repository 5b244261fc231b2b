// What each kernel is told, in the words of C that C++, OpenCL C and CUDA share: included by the host's side, and put
// before kernels.cl as part of its text. Every structure is passed by value; its layout is the same on all three, as
// 8-byte members come before 4-byte ones. u8, u32, u64 and i64 are defined by whoever takes this in.
//
// `lane` is told by the launch. Rows, columns and counts are of one lane.
#ifndef HPO_GPU_ARGUMENTS_H
#define HPO_GPU_ARGUMENTS_H

// Where a tensor lies in the arena: bytes from its start, and from one lane to the next.
typedef struct {
    u64 offset;  // NOWHERE: there is none
    u64 stride;
} Place;

typedef struct {
    Place to;
    i64 count;
    float value;
} FillArguments;

typedef struct {
    Place to;
    Place seed;
    i64 count;
    u32 site;
    float unit;  // bound / 2^23
} InitialiseArguments;

// Which samples of a lane's batch the rows of a pass are (hpo::Pass).
typedef struct {
    Place batch;  // NOWHERE: all rows are the lane's
    Place rows;
    u64 index;
} PassArguments;

typedef struct {
    Place features;  // where samples lie in their buffer; stride 0: all lanes share them
    Place sample_labels;
    u64 sample_rows;  // NOWHERE: they are all the rows there are
    Place output;
    Place labels;
    Place seed;
    Place iteration;
    PassArguments pass;  // there is none: in order, from `first` on
    u32 count;           // of the samples
    u32 first;
    u32 staged;  // samples lie in the order in which they are taken
    u32 rows;
    u32 columns;
    u32 height;  // 0: not augmented
    u32 width;
    u32 most_shift;
    u32 flip;
    float scale;
    float shift;
} GatherArguments;

typedef struct {
    Place probability;  // NOWHERE: no dropout
    Place seed;
    Place iteration;
    Place mask;
    PassArguments pass;
    u64 site;
} DropoutArguments;

typedef struct {
    Place pre;
    Place bias;
    Place output;
    Place own;  // NOWHERE: `activation` for all
    DropoutArguments dropout;
    u32 rows;
    u32 columns;
    u32 activation;  // hpo::Activation
} ActivateArguments;

typedef struct {
    Place gradient;
    Place pre;
    Place output;
    Place bias_gradient;
    Place own;
    DropoutArguments dropout;
    u32 rows;
    u32 columns;
    u32 activation;
    u32 add;  // to the bias gradient
} ActivateBackwardArguments;

typedef struct {
    Place input;
    Place bias;
    Place scale;
    Place shift;
    Place output;
    Place mean;
    Place rstd;
    Place own;  // NOWHERE: all columns
    u32 rows;
    u32 columns;
    float epsilon;
} LayerNormArguments;

typedef struct {
    Place gradient;
    Place input;
    Place mean;
    Place rstd;
    Place scale;
    Place scale_gradient;
    Place shift_gradient;
    Place own;
    u32 rows;
    u32 columns;
    u32 add;
} LayerNormBackwardArguments;

typedef struct {
    Place logits;
    Place labels;
    Place smoothing;
    Place loss;
    Place correct;
    Place gradient;  // NOWHERE: not wanted
    Place scale;     // NOWHERE: 1
    Place weights;   // NOWHERE: `weight` for all
    PassArguments pass;
    u32 rows;
    u32 columns;
    u32 parts;  // groups a lane
    u32 add;    // to loss and correct
    float weight;
} CrossEntropyArguments;

typedef struct {
    Place gradient;
    Place limit;
    Place norm;
    Place factor;
    Place scale;  // NOWHERE: there is no loss scaling, and nothing of good and valid
    Place good;
    Place valid;
    i64 count;
    u32 parts;
    float growth;
} GradientNormArguments;

typedef struct {
    Place weights;
    Place gradient;
    Place learning_rates;
    Place slot;  // NOWHERE: the first of the rates
    Place weight_decay;
    Place factor;  // NOWHERE: 1
    Place alive;
    Place valid;  // NOWHERE: all are
    i64 count;
    i64 decayed;
} UpdateArguments;

typedef struct {
    UpdateArguments update;
    Place first_moment;
    Place second_moment;
    Place beta1;
    Place beta2;
    Place epsilon;
    Place iteration;
} AdamWArguments;

typedef struct {
    UpdateArguments update;
    Place velocity;
    Place momentum;
    u64 nesterov;
} SgdArguments;

typedef struct {
    Place iteration;
    Place alive;
    Place slot;  // NOWHERE: there are no tables
    Place loss;
    Place norm;
    Place losses;
    Place norms;
} AdvanceArguments;

// C [m, n] = op(A) op(B), added to what C holds where `add`; all dense and row-major.
typedef struct {
    Place a;
    Place b;
    Place c;
    u32 m;
    u32 n;
    u32 k;
    u32 add;
    u32 precision;  // hpo::Precision; bfloat16 and float16: A and B hold such numbers
} MultiplyArguments;

typedef struct {
    Place from;
    Place to;
    i64 count;
    u32 precision;  // bfloat16 or float16
} RoundArguments;

#define NOWHERE 0xFFFFFFFFFFFFFFFFUL

#define GROUP_ITEMS 256U       // work items of every group
#define UPDATE_ELEMENTS 1024U  // elements of a group in optimizers and norms
#define MOST_PARTS 256U        // partial results of a reduction, a lane
#define TEAM 32U               // work items that share a row
#define TEAMS 8U               // GROUP_ITEMS / TEAM
#define TILE 64U               // rows and columns of a product that a group computes
#define TILE_DEPTH 16U

#endif
